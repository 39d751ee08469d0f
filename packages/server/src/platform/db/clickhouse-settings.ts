import { z } from 'zod'
import { integer } from '../ops/setting-fields.ts'

const isClickHouseUrl = (text: string): boolean => {
  const url = URL.parse(text)
  return (
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    /^\/([a-z_][a-z0-9_]{0,62})?$/.test(url.pathname) &&
    url.search === ''
  )
}

/** Beacons, and the second engine of attention analytics. */
export const attentionSettings = {
  BEACONS_PER_MINUTE: integer(60, 1e8, 60_000, 'Beacons of one site that each process stores in a minute.'),
  CLICKHOUSE_URL: z
    .string()
    .max(2_000)
    .refine(isClickHouseUrl, 'must be such as https://user:password@clickhouse.example:8443/pohf')
    .optional()
    .meta({
      description:
        'HTTP address of a ClickHouse, 25.3 or newer, with user, password and name of the database; default of the name: pohf. Turns it on as the engine of beacons and conversions: api and worker need it. Without it, PostgreSQL is the engine. See operate/clickhouse.md.',
    }),
  CLICKHOUSE_SPOOL_ENTRIES: integer(
    1_000,
    1_000_000_000,
    5_000_000,
    'Entries that may wait in PostgreSQL for ClickHouse. At this number beacons and conversions get 503. An entry is what one call stored for one view.',
  ),
}
