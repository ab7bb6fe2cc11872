# SPDX-License-Identifier: Apache-2.0
# The same as split.sed of files that have words of others beside their own texts, as labels of nodes: what
# has a blank is a text. Names of cards have one, too. A word that something published is compared
# with stays as it is, and so is found.
/^#include/b
/DGX Display/b
s/\\"/\x03/g
s/"\([^"]*\)"/\x01\1\x02/g
s/\x01\([^\x01\x02]* [^\x01\x02]*\)\x02/\\\n"\1"\\\n/g
s/\\\n$//
s/[\x01\x02]/"/g
