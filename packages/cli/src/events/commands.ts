import { Option, type Command } from 'commander'
import type { CommandGroup } from '../command/help.ts'
import { addAgent, addLocal } from '../command/options.ts'

const load = () => import('./webhooks.ts')
const secretOption = (description: string): Option =>
  new Option('--secret <secret>', description).env('POHF_WEBHOOK_SECRET')

const addEndpoints = (webhooks: Command): void => {
  addAgent(webhooks, 'list', 'list endpoints with their state and health', 'webhooks list').action(
    async (options) => (await load()).list(options),
  )
  addAgent(
    webhooks,
    'add <url>',
    'subscribe a URL and print its signing secret once',
    "webhooks add https://hooks.example.com/pohf --events '*'",
  )
    .requiredOption('--events <names>', "event names, comma-separated, or '*'")
    .action(async (url: string, options) => (await load()).add(url, options))
  addAgent(webhooks, 'enable <id>', 'enable an endpoint', 'webhooks enable whk_0123').action(
    async (id: string, options) => (await load()).enable(id, options),
  )
  addAgent(webhooks, 'disable <id>', 'disable an endpoint', 'webhooks disable whk_0123').action(
    async (id: string, options) => (await load()).disable(id, options),
  )
  addAgent(webhooks, 'delete <id>', 'delete an endpoint', 'webhooks delete whk_0123').action(
    async (id: string, options) => (await load()).remove(id, options),
  )
  addAgent(
    webhooks,
    'rotate <id>',
    'replace the signing secret and print the new one once; the old one also signs for a day',
    'webhooks rotate whk_0123 --now',
  )
    .option('--now', 'the old secret stops signing at once: use it for a leaked secret')
    .action(async (id: string, options) => (await load()).rotate(id, options))
}

const addDeliveries = (webhooks: Command): void => {
  addAgent(webhooks, 'test <id>', 'send a test event', 'webhooks test whk_0123').action(
    async (id: string, options) => (await load()).sendTest(id, options),
  )
  addAgent(
    webhooks,
    'deliveries <id>',
    'list the latest deliveries with every attempt and its error',
    'webhooks deliveries whk_0123 --state dead --limit 100',
  )
    .option('--state <state>', 'only deliveries in this state: pending, delivered or dead')
    .option('--limit <number>', 'number of deliveries, 1 to 100')
    .action(async (id: string, options) => (await load()).deliveries(id, options))
  addAgent(webhooks, 'replay <deliveryId>', 'send one delivery again', 'webhooks replay dlv_0123').action(
    async (id: string, options) => (await load()).replay(id, options),
  )
  addAgent(
    webhooks,
    'recover <id>',
    'enable an endpoint and send the events that it missed since a time',
    'webhooks recover whk_0123 --since 2026-11-01T00:00:00Z',
  )
    .requiredOption('--since <time>', 'ISO time, at most 30 days ago')
    .action(async (id: string, options) => (await load()).recover(id, options))
  addLocal(
    webhooks,
    'verify',
    'verify a saved delivery offline and explain what is wrong with it',
    'webhooks verify --headers headers.json --body body.json --secret "$SECRET"',
  )
    .addOption(secretOption('signing secret of the endpoint, whsec_…'))
    .requiredOption('--headers <file>', 'file with its headers, as lines or as one JSON object')
    .requiredOption('--body <file>', 'file with its body, byte for byte; - reads it from standard input')
    .option('--at <time>', 'time of receipt; default: now')
    .option('--tolerance <seconds>', 'maximum age; default: 300')
    .action(async (options) => (await import('./verify-delivery.ts')).verifyDelivery(options))
}

const addTestEvents = (program: Command): void => {
  addAgent(
    program,
    'listen',
    'forward the events of a test key, signed, to a receiver on this machine',
    'listen --forward-to http://127.0.0.1:4000/',
  )
    .requiredOption('--forward-to <url>', 'address of your receiver, such as http://127.0.0.1:4000/')
    .addOption(secretOption('signing secret of an endpoint; default: a new one for this run'))
    .option('--events <names>', 'only these events, comma-separated')
    .option('--since <time>', 'start with events from this time; default: now')
    .option('--once', 'stop when no event is left')
    .action(async (options) => (await import('./listen.ts')).listen(options))
  addAgent(
    program,
    'trigger <event>',
    'publish the example of an event, with a test key',
    'trigger credential.issued',
  ).action(async (event: string, options) => (await import('./listen.ts')).trigger(event, options))
}

/** Webhooks, and events on a developer's machine. */
export const eventsGroup: CommandGroup = {
  name: 'events',
  title: 'Events: webhooks, and events on your machine',
  examples: [
    'listen --forward-to http://127.0.0.1:4000/',
    'trigger credential.issued',
    "webhooks add https://hooks.example.com/pohf --events '*'",
  ],
  add: (program) => {
    const webhooks = program.command('webhooks').description('manage webhook endpoints')
    addEndpoints(webhooks)
    addDeliveries(webhooks)
    addTestEvents(program)
  },
}
