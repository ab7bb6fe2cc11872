# Other texts for all that src/join/wording.c publishes: each is made of capitals (or, if it was, not), and
# so as long as it was. What stands before the reasons are identifiers (witnesses, placeholders, types of
# conditions), which keep theirs. Formats keep their conversions.
/^static const struct view reasons/,$ {
	/^#include/! s/"[^"]*"/\U&/g
	s/%ZU/%zu/g
	s/%\.\*S/%.*s/g
	s/%S/%s/g
	s/"XID%"/"xid%"/
}
