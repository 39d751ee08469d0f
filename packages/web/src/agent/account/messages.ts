import type { Account } from '../wire.ts'

type Holdings = Pick<Account['claimable'][number], 'mode' | 'keys' | 'webhookHosts'>

export const countText = (count: number, what: string): string =>
  `${count === 0 ? 'no' : count} ${what}${count === 1 ? '' : 's'}`

/** What a claim stops, or what goes on. */
export const claimEffect = ({ keys, webhookHosts }: Holdings, revokes: boolean): string => {
  if (!revokes)
    return 'Whoever has these keys can go on calling the API as this agent, make more keys and read its events.'
  if (keys.length + webhookHosts.length === 0) return 'There is nothing to revoke.'
  const webhooks =
    webhookHosts.length === 0
      ? ''
      : ` ${countText(webhookHosts.length, 'webhook')} stop${webhookHosts.length === 1 ? 's' : ''}.`
  return `Every program that uses one of them gets 401 at once.${webhooks} You make new keys under Keys.`
}

/** What the second press of the button does. */
export const claimButton = ({ mode, keys }: Holdings, revokes: boolean): string =>
  revokes && keys.length > 0
    ? `Revoke ${countText(keys.length, 'key')} and use it as the ${mode} agent`
    : `Use it as the ${mode} agent`
