import type { WebhookEndpoint } from '@pohf/protocol'
import { pluralize } from '../../shared/design/time.ts'
import { isRunwayShort } from '../usage/messages.ts'
import type { Usage } from '../wire.ts'

/** What needs attention in live mode. Nothing is said of what is not loaded or what the key may not read. */
export const liveLead = (
  webhooks: readonly WebhookEndpoint[] | undefined,
  runway: Usage['runway'] | undefined,
): string => {
  const failing = (webhooks ?? []).filter(({ state }) => state !== 'healthy').length
  const problems = [
    ...(runway && isRunwayShort(runway) ? ['Your credits last less than a week at this pace.'] : []),
    ...(failing > 0
      ? [`${pluralize(failing, 'webhook endpoint')} of yours ${failing === 1 ? 'is' : 'are'} not healthy.`]
      : []),
  ]
  if (problems.length > 0) return problems.join(' ')
  return webhooks && runway ? 'Nothing needs your attention.' : ' '
}
