# SPDX-License-Identifier: Apache-2.0
# The same of files that have words of others beside their own texts, as labels of nodes: what has a
# blank is a text. Names of cards have one, too.
/DGX Display/b
s/\\"/\x03/g
s/"\([^"]*\)"/\x01\1\x02/g
s/\x01\([^\x01\x02]* [^\x01\x02]*\)\x02/\x01\U\1\E\x02/g
s/\x01/"/g
s/\x02/"/g
s/\x03/\\"/g
s/%\.\*S/%.*s/g
s/%U/%u/g
s/%S/%s/g
