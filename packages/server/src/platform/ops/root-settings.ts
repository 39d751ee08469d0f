import { z } from 'zod'
import { integer, path } from './setting-fields.ts'

/** The budgets of what live credentials rest on. */
export const rootSettings = {
  ROOT_BUDGETS: z.enum(['auto', 'on', 'off']).default('auto').meta({
    description:
      'Budgets of networks, devices and accounts for live credentials. auto: off if BASE_URL, HOST, OPERATOR_HOST and OPERATOR_BASE_URL are loopback, else on. See operate/budgets.md.',
  }),
  ROOT_ADDRESS_PER_HOUR: integer(
    0,
    1_000_000,
    30,
    'Live credentials in a clock hour from one IPv4 address or IPv6 /64. One agent gets at most half.',
  ),
  ROOT_ADDRESS_PER_DAY: integer(0, 1_000_000, 100, 'The same in a UTC day.'),
  ROOT_NETWORK_PER_HOUR: integer(
    0,
    1_000_000,
    300,
    'Live credentials in a clock hour from one IPv4 /24 or IPv6 /48. One agent gets at most half.',
  ),
  ROOT_NETWORK_PER_DAY: integer(0, 1_000_000, 1_000, 'The same in a UTC day.'),
  ROOT_DEVICE_PER_DAY: integer(
    0,
    1_000_000,
    60,
    'Live credentials in a UTC day that rest on one key of an authenticator or an app.',
  ),
  ROOT_ACCOUNT_PER_DAY: integer(
    0,
    1_000_000,
    200,
    'Live credentials in a UTC day that rest on one payout account or one proof of an outside issuer.',
  ),
  NETWORKS_FILE: path(
    'File with kinds of networks: on each line a CIDR range and carrier, relay or hosting. Carriers and relays have 20 times the budget, hosting networks none. Read at the start. See operate/budgets.md.',
  ),
}

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
