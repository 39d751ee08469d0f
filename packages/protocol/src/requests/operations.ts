import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { instant, queryInstant, reference, text } from '../platform/fields.ts'
import { nextPage, pageQuery } from '../platform/lists.ts'

/** How long requests are listed. */
export const requestDays = 7

const request = z.object({
  requestId: z.string(),
  at: instant().meta({ description: 'When the request arrived.' }),
  method: z.string(),
  endpoint: z.string().meta({ description: 'The public id of the endpoint.' }),
  status: z.int(),
  code: z.string().nullable().meta({ description: 'The error code; null where the request succeeded.' }),
  durationMs: z.int().min(0),
  keyId: z.string(),
})
export type LoggedRequest = z.output<typeof request>

export const list = operation({
  summary: 'List the requests of the last 7 days, newest first. No body, query or address is kept.',
  query: z.object({
    requestId: reference(128).optional(),
    status: z
      .string()
      .regex(/^[2-5](\d\d|xx)$/, 'must be a status such as 404, or a class such as 4xx')
      .optional(),
    code: text(64).optional(),
    endpoint: text(64).optional(),
    since: queryInstant().optional(),
    until: queryInstant().optional(),
    ...pageQuery,
  }),
  response: z.object({ requests: z.array(request).max(100), ...nextPage }),
})
