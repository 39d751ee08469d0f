import { eventCatalogue, eventEnvelope } from '@pohf/protocol'
import { z } from 'zod'

const schemaOf = (schema: z.ZodType): Record<string, unknown> => {
  const { $schema: _, ...body } = z.toJSONSchema(schema, { target: 'draft-2020-12' })
  return body
}

const catalogResponse = {
  envelope: schemaOf(eventEnvelope),
  events: [...eventCatalogue].map(([type, { summary, data, example }]) => ({
    type,
    summary,
    published: true,
    schema: schemaOf(data),
    example: example as Record<string, unknown>,
  })),
}

/** Every event with the JSON Schema of its data, the same for all. */
export const catalog = async () => catalogResponse
