import { z } from 'zod'
import { queryInteger } from './fields.ts'

/** The page of a list that is requested: at most `limit` rows, from the position of `cursor` on. */
export const pageQuery = {
  limit: queryInteger(1, 100).optional().meta({ description: 'Rows of a page; 25 if it is left out.' }),
  cursor: z.string().max(1_000).optional().meta({
    description: 'The nextCursor of the page before. The other parameters must be the same as then.',
  }),
}

/** Where a list continues. */
export const nextPage = {
  nextCursor: z.string().nullable().meta({
    description:
      'Null at the end of the list. With a filter, a page can have fewer rows than the limit, or none, and still have a next one.',
  }),
  hasMore: z.boolean(),
}
