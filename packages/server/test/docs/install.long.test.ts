import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort } from '../../dev/cluster.ts'
import { readMigrations } from '../../src/platform/db/migrate.ts'
import { databaseRoles } from '../../src/platform/db/database-roles.ts'
import { missingPostgres, startFreshPostgres } from './fresh-postgres.ts'
import { repositoryRoot } from './markdown.ts'
import { groups } from './pages.ts'
import { runPage } from './run-page.ts'

const [path] = groups.install
const page = readFileSync(join(repositoryRoot, path), 'utf8')
const run = async (text: string, postgres: Awaited<ReturnType<typeof startFreshPostgres>>) =>
  runPage(text, {
    ports: {
      3000: await freePort(),
      3001: await freePort(),
      4000: await freePort(),
      5432: postgres.port,
    },
    environment: postgres.administrator,
  })

test('the installation page leads to a live credential', async (t) => {
  // On one engine: the battery setup has the other one.
  const postgres = await startFreshPostgres(missingPostgres('system') === undefined ? 'system' : 'embedded')
  t.after(postgres.stop)
  const { run: blocks, notRun } = await run(page, postgres)
  const [server] = await postgres.query<{ version: string }>(
    'postgres',
    "select current_setting('server_version') as version",
  )
  t.diagnostic(`${blocks} blocks on PostgreSQL ${server?.version}`)
  assert.deepEqual([blocks, notRun], [9, 1])

  // The roles of the page are all there are, and none of them stands above row-level security.
  const roles = await postgres.query(
    'postgres',
    `select rolname, rolcanlogin, rolsuper or rolcreaterole or rolcreatedb or rolbypassrls as powerful
     from pg_roles where rolname !~ '^(pg_|postgres$)' order by 1`,
  )
  assert.deepEqual(roles, [
    { rolname: 'pohf', rolcanlogin: true, powerful: false },
    ...databaseRoles.map((rolname) => ({ rolname, rolcanlogin: false, powerful: false })),
  ])
  const minted = await postgres.query('pohf', 'select mode, kind from credentials')
  assert.deepEqual(minted, [{ mode: 'live', kind: 'view' }])
})

const pageWithout = (role: string): string => {
  const others = databaseRoles.filter((name) => name !== role)
  return page
    .replace(`create role ${role} nologin;\n`, '')
    .replace('grant pohf_app, pohf_mint to pohf;', `grant ${others.join(', ')} to pohf;`)
}

/** Pages with a fault in the statements that create the roles, and what the reader is told. */
const faultyPages: readonly (readonly [page: string, error: RegExp])[] = [
  ...databaseRoles.map(
    (role) => [pageWithout(role), new RegExp(`not complete: role ${role} is missing`)] as const,
  ),
  [page.replace('grant pohf_app, pohf_mint to pohf;\n', ''), /role pohf is no member of pohf_app/],
  [
    page.replace('create role pohf_app nologin', 'create role pohf_app nologin bypassrls'),
    /role pohf_app bypasses row-level security/,
  ],
  [
    pageWithout('pohf_mint').replace('npx pohf migrate', 'npx pohf doctor'),
    /✗ roles +role pohf_mint is missing/,
  ],
]

test(
  'a fault in the roles stops the migration and is named by it and by doctor',
  {
    skip: missingPostgres('embedded') ?? false,
  },
  async (t) => {
    const postgres = await startFreshPostgres('embedded')
    t.after(postgres.stop)
    for (const [text, error] of faultyPages) {
      assert.notEqual(text, page)
      await assert.rejects(run(text, postgres), error)
      await postgres.query('postgres', 'drop database pohf')
      await postgres.query('postgres', `drop role if exists pohf, ${databaseRoles.join(', ')}`)
    }
  },
)

test('the roles that migrations create are those that are checked', () => {
  const created = readMigrations().flatMap(({ sql }) =>
    [...sql.matchAll(/create role (\w+)/g)].map(([, role]) => role),
  )
  assert.deepEqual(created, [...databaseRoles])
})
