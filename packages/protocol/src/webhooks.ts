import { z } from 'zod'
import { operation } from './endpoint.ts'

export const register = operation({
  summary: 'Subscribe a URL to events.',
  showsSecret: true,
  body: z.object({
    url: z.url({ protocol: /^https?$/ }).max(2_048),
    events: z
      .array(
        z
          .string()
          .max(100)
          .regex(/^(\*|[a-z0-9_]+\.[a-z0-9_]+)$/, 'must be * or of the form a.b'),
      )
      .min(1)
      .max(100),
  }),
  response: z.object({ id: z.string(), signingSecret: z.string().meta({ description: 'Shown once.' }) }),
})
