import { z } from 'zod'
import { Refusal } from '../../platform/http/errors.ts'
import { fieldsOf, resultFrom, type Tool } from './tool.ts'

const optional = (fields: Record<string, z.ZodType>): Record<string, z.ZodType> =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.optional()]))

export const verifyHuman: Tool = {
  name: 'verify_human',
  title: 'Verify a human',
  description:
    'Mints a signed credential: for a finished session give sessionId; for personhood give memberId, with wallet, walletSig and walletNonce to bind a wallet. Spends 1 credit; a repeat of the same act returns the same credential for free. A test key verifies without limit. Needs an API key.',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  needs: ['credentials.verify', 'credentials.verify-personhood'],
  output: z.object({ verified: z.boolean(), credentialId: z.string(), pohf_jwt: z.string() }),
  input: z.object({
    ...optional(fieldsOf('credentials.verify', 'body', ['sessionId'])),
    ...optional(
      fieldsOf('credentials.verify-personhood', 'body', ['memberId', 'wallet', 'walletSig', 'walletNonce']),
    ),
  }),
  run: async (call) => {
    const { sessionId, ...personhood } = call.input
    const both = sessionId !== undefined && personhood['memberId'] !== undefined
    // Without a key the operation says so first, as everywhere.
    if (both && call.agent)
      throw new Refusal('validation_failed', { message: 'Send sessionId or memberId, not both.' })
    return resultFrom(
      call,
      personhood['memberId'] === undefined || both
        ? await call.dispatch('credentials.verify', { body: { sessionId } })
        : await call.dispatch('credentials.verify-personhood', { body: personhood }),
    )
  },
}
