// Which test file runs which page, and the blocks that no test can run.

/** Each group is run by the test file of its name, against a server of its own. */
export const groups = {
  withoutChain: [
    'README.md',
    'docs/guides/arena.md',
    'docs/guides/check.md',
    'docs/guides/console.md',
    'docs/guides/devices.md',
    'docs/guides/discovery.md',
    'docs/guides/forging.md',
    'docs/guides/keys.md',
    'docs/guides/mcp.md',
    'docs/guides/members.md',
    'docs/guides/presence.md',
    'docs/guides/sandbox.md',
    'docs/guides/sessions.md',
    'docs/guides/tasks.md',
    'docs/guides/tracking.md',
    'docs/guides/verify.md',
    'docs/guides/wallets.md',
    'docs/operate/abuse-cases.md',
    'docs/operate/budgets.md',
    'docs/operate/faults.md',
    'docs/operate/operations.md',
    'docs/operate/scale.md',
    'docs/operate/threat-model.md',
    'docs/quickstart/README.md',
    'docs/reference/cli.md',
    'docs/reference/endpoints.md',
    'docs/reference/events.md',
    'docs/reference/forging.md',
    'docs/reference/master-key.md',
    'docs/reference/metrics.md',
    'docs/reference/settings.md',
    'docs/reference/status-lists.md',
    'docs/reference/telemetry.md',
  ],
  withChain: [
    'docs/guides/bind.md',
    'docs/guides/buy.md',
    'docs/guides/credits.md',
    'docs/guides/forwards.md',
    'docs/guides/index-vhh.md',
    'docs/guides/onchain.md',
    'docs/guides/partners.md',
    'docs/guides/webhooks.md',
    'docs/guides/work.md',
    'docs/guides/workers.md',
  ],
  /** It starts a server of its own, on a fresh PostgreSQL. */
  install: ['docs/operate/install.md'],
} as const

/** Why the blocks marked `no-run` are not run: one reason for each of them, in the order of the page. */
export const notRunReasons: Readonly<Record<string, readonly string[]>> = {
  'README.md': ['the test starts npm run dev itself', 'production', 'production'],
  'docs/guides/arena.md': [
    'it plays for a minute; packages/arena/test/arena.test.ts plays the same bot',
    'it needs a screen of its own; packages/arena/test/person.test.ts plays the person',
  ],
  'docs/guides/forging.md': [
    'it fails where the table of this version is older than 90 days; packages/cli/test/forging.test.ts runs it',
  ],
  'docs/guides/onchain.md': [
    'it deploys to a chain of the reader; packages/chain/test/deploy.test.ts runs it',
  ],
  'docs/operate/install.md': ['npm run battery:setup runs it on a fresh clone'],
  'docs/operate/operations.md': ['production', 'adds users to the system', 'installs software'],
  'docs/quickstart/README.md': ['the test starts npm run dev itself'],
}

/** Pages without a block to run. */
export const withoutBlocks: readonly string[] = [
  'docs/guides/workers.md',
  'docs/operate/abuse-cases.md',
  'docs/operate/faults.md',
  'docs/operate/scale.md',
  'docs/operate/threat-model.md',
  'docs/reference/cli.md',
  'docs/reference/endpoints.md',
  'docs/reference/events.md',
  'docs/reference/master-key.md',
  'docs/reference/metrics.md',
  'docs/reference/settings.md',
  'docs/reference/telemetry.md',
]
