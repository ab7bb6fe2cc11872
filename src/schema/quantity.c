/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The canonical form, which is what the API server stores, has no fraction and the largest suffix
 * that divides the amount: 1000 devices are "1k".
 * https://pkg.go.dev/k8s.io/apimachinery/pkg/api/resource#Quantity
 */

#include "schema/quantity.h"

static const struct {
	struct view suffix;
	uint64_t factor;
} suffixes[] = {
	{VIEW_INIT(""), 1},
	{VIEW_INIT("k"), 1000},
	{VIEW_INIT("M"), 1000000},
	{VIEW_INIT("G"), 1000000000},
	{VIEW_INIT("T"), 1000000000000},
	{VIEW_INIT("P"), 1000000000000000},
	{VIEW_INIT("E"), 1000000000000000000},
	{VIEW_INIT("Ki"), UINT64_C(1) << 10},
	{VIEW_INIT("Mi"), UINT64_C(1) << 20},
	{VIEW_INIT("Gi"), UINT64_C(1) << 30},
	{VIEW_INIT("Ti"), UINT64_C(1) << 40},
	{VIEW_INIT("Pi"), UINT64_C(1) << 50},
	{VIEW_INIT("Ei"), UINT64_C(1) << 60},
};

/* 10 to the exponent behind "e" or "E", or 0 when it is none or too large. */
static uint64_t factor_of_exponent(struct view text)
{
	uint64_t exponent, factor = 1;

	if (text.len < 2 || (text.ptr[0] != 'e' && text.ptr[0] != 'E') ||
	    !view_parse_u64(view_from_offset(text, 1), &exponent) || exponent > 18)
		return 0;
	for (; exponent > 0; exponent--)
		factor *= 10;
	return factor;
}

static uint64_t factor_of(struct view suffix)
{
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		if (view_equal(suffix, suffixes[i].suffix))
			return suffixes[i].factor;
	}
	return factor_of_exponent(suffix);
}

bool quantity_parse(struct view text, int64_t *ret)
{
	size_t n_digits = 0;
	uint64_t number;

	while (n_digits < text.len && text.ptr[n_digits] >= '0' && text.ptr[n_digits] <= '9')
		n_digits++;
	if (!view_parse_u64((struct view){text.ptr, n_digits}, &number))
		return false;
	uint64_t factor = factor_of(view_from_offset(text, n_digits));
	if (factor == 0 || number > INT64_MAX / factor)
		return false;
	*ret = (int64_t)(number * factor);
	return true;
}
