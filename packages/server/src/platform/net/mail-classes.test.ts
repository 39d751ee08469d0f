import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { startMailCatcher } from '../../../dev/mail-catcher.ts'
import { startHarness } from '../../../test/fixtures/harness.ts'
import { inTransaction } from '../db/db.ts'
import { startWorker } from '../queue/worker.ts'
import { mailJobs, queueMail, type MailKind } from './mail.ts'

/** Mails to `held.example` are accepted when this is resolved. */
let release = Promise.withResolvers<void>()
let held = 0
const catcher = await startMailCatcher({ smtp: 0, http: 0 }, async (to) => {
  if (!to.some((address) => address.endsWith('@held.example'))) return
  held += 1
  await release.promise
  held -= 1
})
after(() => catcher.stop())
const harness = await startHarness({ SMTP_URL: `smtp://127.0.0.1:${catcher.smtpPort}` })
const worker = startWorker(harness.ctx, mailJobs(harness.ctx))
after(async () => {
  release.resolve()
  await worker.stop()
})

const queue = (kind: MailKind, to: string) =>
  inTransaction(harness.ctx, 'system', (tx) =>
    queueMail(tx, harness.ctx, { agentId: 'system', kind, to, subject: kind, text: kind }),
  )
const until = async (condition: () => boolean) => {
  while (!condition()) await setTimeout(10)
}
const during = (flooding: MailKind, kind: MailKind) =>
  `during-${flooding}@${kind.replaceAll('_', '-')}.example`
const arrived = (to: string) => catcher.mails.some((mail) => mail.to.includes(to))

const classes: readonly (readonly MailKind[])[] = [
  ['console_link', 'recover'],
  ['confirm'],
  ['endpoint_notice', 'console_invitation', 'console_notice', 'approver_invitation', 'approval_request'],
]

/** Holds the mails of a kind at the mail server, and waits until mails of every kind of the other classes have arrived. */
const hold = async (flooding: MailKind) => {
  release = Promise.withResolvers()
  for (let n = 0; n < 30; n++) await queue(flooding, `${flooding}${n}@held.example`)
  await until(() => held > 0)
  const others = classes.filter((kinds) => !kinds.includes(flooding)).flat()
  for (const kind of others) await queue(kind, during(flooding, kind))
  await until(() => others.every((kind) => arrived(during(flooding, kind))))
  const numbers = Array.from({ length: 30 }, (_, n) => n)
  assert.ok(!numbers.some((n) => arrived(`${flooding}${n}@held.example`)))
  release.resolve()
  await until(() => numbers.every((n) => arrived(`${flooding}${n}@held.example`)))
}

test('many confirmations delay no mail of another class', () => hold('confirm'))
test('many links to sign in delay no mail of another class', () => hold('console_link'))
test('many other mails delay no link to sign in, recovery or confirmation', () => hold('endpoint_notice'))

test('one recipient whose mail is held delays no other mail of its class', async () => {
  release = Promise.withResolvers()
  await queue('console_link', 'slow@held.example')
  const quick = [0, 1, 2].map((n) => `quick${n}@quick.example`)
  for (const to of quick) await queue('console_link', to)
  await until(() => quick.every(arrived))
  assert.ok(!arrived('slow@held.example'))
  release.resolve()
  await until(() => arrived('slow@held.example'))
})
