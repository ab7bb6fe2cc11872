# SPDX-License-Identifier: Apache-2.0
# A line of its own for each text, for reword.sed. Identifiers are left: witnesses, placeholders, types of
# conditions. So is what has no letter.
/^#include/b
/^static const struct view witnesses/,/^};/b
/^static const struct view placeholders/,/^};/b
/^\tX(CONDITION_/b
s/"\([^"]*\)"/\x01\1\x02/g
s/\x01\([^\x01\x02]*[A-Za-z][^\x01\x02]*\)\x02/\\\n"\1"\\\n/g
s/\\\n$//
s/[\x01\x02]/"/g
