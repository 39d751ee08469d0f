// Which test file runs which page, and the blocks that no test can run.

import { listPages } from './markdown.ts'

/** Pages whose examples pay or read on a chain. */
const withChain = [
  'docs/guides/ask-human.md',
  'docs/guides/bind.md',
  'docs/guides/buy.md',
  'docs/guides/credits.md',
  'docs/guides/forwards.md',
  'docs/guides/index-methodology.md',
  'docs/guides/index-vhh.md',
  'docs/guides/onchain.md',
  'docs/guides/partners.md',
  'docs/guides/webhooks.md',
  'docs/guides/work.md',
  'docs/guides/workers.md',
  'docs/quickstart/agent-builder.md',
]

/** Pages for which a test file starts a server of its own, on a fresh PostgreSQL. */
const install = ['docs/operate/install.md'] as const

/** Every page with examples. */
export const examplePages = listPages(['README.md', 'docs/{quickstart,guides,operate,reference}/*.md'])

/** Each group is run by the test file of its name, against a server of its own. */
export const groups = {
  withChain,
  install,
  withoutChain: examplePages.filter((page) => ![...withChain, ...install].includes(page)),
}

/** Why the blocks marked `no-run` are not run: one reason for each of them, in the order of the page. */
export const notRunReasons: Readonly<Record<string, readonly string[]>> = {
  'docs/guides/guard-a-tool.md': ['npm run battery -- guards runs it, with the frameworks'],
  'README.md': ['the test starts npm run dev itself'],
  'docs/guides/arena.md': [
    'it plays for a minute; packages/arena/test/arena.test.ts plays the same bot',
    'it needs a screen of its own; packages/arena/test/person.test.ts plays the person',
  ],
  'docs/guides/oversight.md': ['it needs a pack; packages/cli/test/approval-report.test.ts verifies one'],
  'docs/guides/company-sign-in.md': [
    'it needs a domain of the reader; packages/server/src/issuers/companies publishes records',
  ],
  'docs/guides/forging.md': [
    'it fails where the table of this version is older than 90 days; packages/cli/test/forging.test.ts runs it',
  ],
  'docs/guides/attention.md': [
    'it writes for two minutes; tools/demo/demo.long.test.ts runs it with fewer rows',
  ],
  'docs/guides/onchain.md': [
    'it deploys to a chain of the reader; packages/chain/test/deploy.test.ts runs it',
  ],
  'docs/guides/tag-check.md': ['it needs Chromium; packages/cli/test/tag-check.long.test.ts runs it'],
  'docs/guides/webhooks.md': [
    'it needs the frameworks; packages/verify/test/receivers.test.ts runs servers of each',
  ],
  'docs/operate/high-availability.md': [
    'production',
    'it needs a cluster of Patroni',
    'it takes half an hour and needs packages of Debian',
    'production; npm run battery -- backup runs the same commands',
    'production; npm run battery -- backup runs the same commands',
  ],
  'docs/operate/containers.md': [
    'it needs Docker; npm run battery -- image runs the same containers by podman',
    'it needs Docker; npm run battery -- image runs the same image by podman',
  ],
  'docs/operate/support.md': ['it changes the addresses of the sources'],
  'docs/operate/systemd.md': [
    'it clones into /opt',
    'it adds users; npm run battery -- image runs it',
    'it needs an administrator of PostgreSQL; npm run battery -- image runs it',
    'it needs systemd; npm run battery -- image runs it',
    'it needs the service; npm run battery -- image runs it',
    'it needs the service; npm run battery -- image runs it',
  ],
  'docs/operate/backup.md': ['production', 'production'],
  'docs/operate/clickhouse.md': [
    'it needs a ClickHouse; npm run battery -- attention applies the same statements',
    'it needs a ClickHouse; npm run battery -- attention copies the same way',
    'it needs a ClickHouse; npm run battery -- attention copies and inspects the same way',
  ],
  'docs/operate/checklist.md': [
    'it needs the settings of the server',
    'production',
    'production',
    'it calls third parties; tools/contact/contact.long.test.ts runs it against their counterparts',
  ],
  'docs/operate/install.md': ['npm run battery -- setup runs it on a fresh clone'],
  'docs/operate/keys.md': [
    'it makes certificates for hosts of the reader; packages/server/src/signing/two-signers.test.ts uses such',
  ],
  'docs/operate/master-key.md': [
    'it changes the master key; npm run battery -- rewrap runs the same commands',
    'it changes the master key; npm run battery -- rewrap runs the same commands',
    'it changes the master key; npm run battery -- rewrap runs the same commands',
  ],
  'docs/operate/observability.md': ['production'],
  'docs/operate/release.md': [
    'it changes the versions of the checkout',
    'it takes a key of the reader; tools/packages/release/release.test.ts signs with one',
    'it publishes',
    'it takes a key of the reader; tools/packages/release/release.test.ts verifies',
    'it takes a key of the reader; tools/packages/release/release.test.ts verifies',
  ],
  'docs/operate/restore.md': [
    'it needs a signer that is away; packages/server/src/signing/restore/silent-signer.test.ts names one',
    'it needs lists that were published before; packages/server/src/signing/restore/restore.test.ts hands them in',
  ],
  'docs/operate/operations.md': ['production', 'adds users to the system', 'installs software'],
  'docs/operate/runbooks.md': [
    'it needs a cluster of Patroni',
    'it needs the settings of the signer',
    'it takes a key of the reader',
    'it needs the settings of the signer',
    'it needs a repository of backups',
    'docs/operate/restore.md runs it',
    'it needs the settings of the server',
    'it takes a purchase of the reader',
  ],
  'docs/operate/upgrade.md': ['production', 'it clones into /opt', 'it needs the settings of the server'],
  'docs/quickstart/README.md': ['the test starts npm run dev itself'],
  'docs/quickstart/agent-builder.md': ['the test starts npm run dev itself'],
  'docs/quickstart/guard-a-tool.md': ['the test starts npm run dev itself'],
  'docs/quickstart/operator.md': ['the test starts npm run dev itself'],
  'docs/quickstart/site-owner.md': ['the test starts npm run dev itself'],
}
