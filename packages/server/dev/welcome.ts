import { relative } from 'node:path'
import type { Config } from '../src/platform/ops/config.ts'
import { readDemo } from './demo.ts'

/** What a start offers: addresses, and why something is not there. */
export type StartedDevelopment = {
  readonly config: Config
  readonly apiKey: string
  readonly agentId: string
  readonly operatorKey: string
  readonly variablesFile: string
  readonly site: string
  readonly mails: string
  readonly checkout: string
  readonly chain: string
  /** Of the wallet that buys on the local chain; undefined without one. */
  readonly payerKey: string | undefined
}

/** The key is publicly known and holds 1,000 test dollars. */
const buyCommand = ({ config, payerKey }: StartedDevelopment): string =>
  payerKey === undefined
    ? ''
    : `

  PAYER_PRIVATE_KEY=${payerKey} \\
    npx pohf buy wf_test_ok --url ${config.BASE_URL}`

/** What a developer opens and types first. */
export const welcomeOf = (started: StartedDevelopment): string => {
  const { config, apiKey, operatorKey } = started
  return `
PoHF is ready.

Open:

  Sample site    ${started.site}   a form with the check: try it as a visitor
  Website        ${config.BASE_URL}/   with the documentation at /docs
  Console        ${config.BASE_URL}/console   for agents, with the test key below
  Operators      ${config.OPERATOR_BASE_URL}/operator   with a passkey, at first with the operator key below
  Verify         ${config.BASE_URL}/verify
  Work           ${config.BASE_URL}/work   for members
  Mails          ${started.mails}   what the service sent, as its readers see it
  Card simulator ${started.checkout}

Call:

  API            ${config.BASE_URL}
  OpenAPI        ${config.BASE_URL}/openapi.json
  Operators' API http://${config.OPERATOR_HOST}:${config.OPERATOR_PORT}
  Chain          ${started.chain}
  Database       ${config.DATABASE_URL}

Keys:

  Test key       ${apiKey}
  Operator key   ${operatorKey}

The addresses and keys as shell variables, for the examples of docs/:

  source ${relative('', started.variablesFile)}

Try it:

  curl ${config.BASE_URL}/api/agents/verify -H 'Authorization: Bearer ${apiKey}' \\
    -H 'Content-Type: application/json' -d '{"sessionId":"my-first-session"}'${buyCommand(started)}

PORT=4000 npm run dev uses ports from 4000 on. Ctrl-C stops everything.`
}

export const demoNoteOf = ({ DATA_DIR, BASE_URL }: Config): string => {
  const { live, ownerEmail, enrolUrl } = readDemo(DATA_DIR)
  return `
Demo data: nothing of it is real. It is made anew a day after it was made, or when ${relative('', DATA_DIR)} is deleted.

  Live key       ${live.apiKey}   for ${BASE_URL}/console
  By mail        ${ownerEmail} at ${BASE_URL}/console: the link is in Mails
  Enrolment      ${enrolUrl}`
}

/** The same for programs. */
export const startedJson = (started: StartedDevelopment): string =>
  JSON.stringify({
    ok: true,
    url: started.config.BASE_URL,
    operatorUrl: `http://${started.config.OPERATOR_HOST}:${started.config.OPERATOR_PORT}`,
    operatorPages: `${started.config.OPERATOR_BASE_URL}/operator`,
    site: started.site,
    mails: started.mails,
    checkout: started.checkout,
    databaseUrl: started.config.DATABASE_URL,
    agentId: started.agentId,
    key: started.apiKey,
    operatorKey: started.operatorKey,
    payerKey: started.payerKey ?? null,
    variablesFile: started.variablesFile,
  })
