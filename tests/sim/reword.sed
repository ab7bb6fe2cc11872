# SPDX-License-Identifier: Apache-2.0
# Other texts for all that these files publish: each is made of capitals (or, if it was, not), and so as
# long as it was. Identifiers keep theirs: witnesses, placeholders, types of conditions. Formats keep
# their conversions.
/^#include/b
/^static const struct view witnesses/,/^};/b
/^static const struct view placeholders/,/^};/b
/^\tX(CONDITION_/b
s/"[^"]*"/\U&/g
s/%ZU/%zu/g
s/%\.\*S/%.*s/g
s/%S/%s/g
s/"XID"/"xid"/
