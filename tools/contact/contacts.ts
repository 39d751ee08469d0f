import { contactChain } from './chain.ts'
import { contactGithub } from './github.ts'
import { contactMail } from './mail.ts'
import { contactPasskey } from './passkey.ts'
import { contactStripe } from './stripe.ts'
import type { Input } from './steps.ts'

/** A first contact with a third party that the tests only simulate. */
export type Contact = {
  /** What works if it passes, for the list of `npm run contact`. */
  readonly checks: string
  /** What the operator needs. */
  readonly needs: string
  readonly run: (input: Input) => Promise<void>
}

/** Every first contact by its name. `npm run contact -- NAME` runs one. */
export const contacts = {
  stripe: {
    checks: 'a card payment at Stripe in test mode, its event and its refund',
    needs: 'STRIPE_SECRET_KEY with a test key, STRIPE_WEBHOOK_SECRET',
    run: contactStripe,
  },
  chain: {
    checks: 'the node, the token, the gas accounts and a simulated payment',
    needs: 'X402_CHAIN_RPC, X402_PAY_TO, X402_GAS_KEYS_FILE or X402_FACILITATOR_URL',
    run: contactChain,
  },
  mail: {
    checks: 'the mail server, and one mail to a mailbox',
    needs: 'SMTP_URL, MAIL_FROM, --to',
    run: contactMail,
  },
  passkey: {
    checks: 'a passkey of a real authenticator, made and used on the origin of the service',
    needs: 'BASE_URL, HOST, PORT, a browser; the service must not run on this port',
    run: contactPasskey,
  },
  github: {
    checks: 'the workflows, and what the project says it has on GitHub',
    needs: 'GITHUB_REPOSITORY, GITHUB_TOKEN',
    run: contactGithub,
  },
} as const satisfies Readonly<Record<string, Contact>>

export const contactNames: readonly string[] = Object.keys(contacts)

export const findContact = (name: string): Contact | undefined =>
  Object.entries(contacts).find(([known]) => known === name)?.[1]
