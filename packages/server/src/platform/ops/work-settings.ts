import { integer } from './setting-fields.ts'

/** Orders of human work. */
export const workSettings = {
  ORDER_REVIEWS: integer(
    0,
    50,
    3,
    'How many orders of a live buyer an operator must have approved and workers completed before its next orders start without a review. An order that nobody reviews ends at its deadline and is refunded. 0: no order waits for a review, and workers can still report it.',
  ),
  REFERENCE_USD_PER_HOUR: integer(
    1,
    10_000,
    30,
    'US dollars per human hour, for the price of orders without a workflow price. The VHH index does not change it.',
  ),
}
