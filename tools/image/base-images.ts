import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { hasImage, run } from './podman.ts'

const debianImage = 'localhost/pohf-battery/debian:12'
const postgresImage = 'localhost/pohf-battery/postgres:15'
const nodeImage = 'localhost/pohf-battery/node:24'

/** What the slim images of Debian leave out as well. */
const leftOut = [
  './dev/*',
  './usr/share/doc/*',
  './usr/share/man/*',
  './usr/share/info/*',
  './usr/share/locale/*',
  './var/cache/*',
  './var/lib/apt/lists/*',
  './var/log/*',
]

/** Debian 12 with nothing but its base system, as debian:bookworm-slim. */
const makeDebian = (folder: string): void => {
  const root = join(folder, 'debian')
  run('debootstrap', ['--variant=minbase', 'bookworm', root], { timeoutMs: 900_000 })
  const archive = join(folder, 'debian.tar')
  run('tar', ['-C', root, ...leftOut.map((path) => `--exclude=${path}`), '-cf', archive, '.'])
  run('podman', ['import', archive, debianImage])
}

/** The Node of the workspace and the npm of this machine, at the places of node:24-slim. */
const containerfile = `FROM ${debianImage}
COPY node /usr/local/bin/node
COPY npm /usr/local/lib/node_modules/npm
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm && npm --version
COPY authorities.pem /etc/ssl/authorities.pem
ENV NODE_EXTRA_CA_CERTS=/etc/ssl/authorities.pem
`

const makeNode = (folder: string): void => {
  const platformPackage = `node-${process.platform}-${process.arch}/package.json`
  const node = join(dirname(createRequire(import.meta.url).resolve(platformPackage)), 'bin/node')
  copyFileSync(node, join(folder, 'node'))
  const npm = execFileSync('npm', ['root', '--global'], { encoding: 'utf8' }).trim()
  cpSync(join(npm, 'npm'), join(folder, 'npm'), { recursive: true })
  // If you set NODE_EXTRA_CA_CERTS, npm in the build trusts these authorities too. The image that is built copies nothing of
  // this one but Node.
  const authorities = process.env['NODE_EXTRA_CA_CERTS']
  if (authorities === undefined) writeFileSync(join(folder, 'authorities.pem'), '')
  else copyFileSync(authorities, join(folder, 'authorities.pem'))
  writeFileSync(join(folder, 'Containerfile'), containerfile)
  build({ file: join(folder, 'Containerfile'), context: folder, image: nodeImage })
}

/**
 * Debian's PostgreSQL with the parts of the image `postgres` that deploy/compose.yml uses: user 999, its folders, the password
 * file, and the files of /docker-entrypoint-initdb.d at the first start.
 */
const postgresContainerfile = `FROM ${debianImage}
RUN groupadd --gid 999 postgres && useradd --uid 999 --gid postgres --home-dir /var/lib/postgresql postgres \\
  && apt-get update && apt-get install --yes --no-install-recommends postgresql-15 \\
  && install -d -m 1777 -o postgres -g postgres /var/lib/postgresql \\
  && install -d -m 3777 -o postgres -g postgres /run/postgresql
COPY start.sh /start.sh
ENV PATH=/usr/lib/postgresql/15/bin:/usr/bin:/bin
ENTRYPOINT ["sh", "/start.sh"]
`
const postgresStart = `set -eu
data=/var/lib/postgresql/data
if [ ! -s "$data/PG_VERSION" ]; then
  # Without quotes: the variable holds several options.
  initdb --pgdata "$data" --username postgres --pwfile "$POSTGRES_PASSWORD_FILE" $POSTGRES_INITDB_ARGS
  echo 'host all all all scram-sha-256' >> "$data/pg_hba.conf"
  pg_ctl --pgdata "$data" --options "-c listen_addresses=''" --wait start
  for file in /docker-entrypoint-initdb.d/*.sql; do
    psql --set ON_ERROR_STOP=1 --no-psqlrc --username postgres --dbname postgres --file "$file"
  done
  pg_ctl --pgdata "$data" --wait stop
fi
exec postgres -D "$data" -c listen_addresses='*'
`

const makePostgres = (folder: string): void => {
  writeFileSync(join(folder, 'Containerfile.postgres'), postgresContainerfile)
  writeFileSync(join(folder, 'start.sh'), postgresStart)
  build({ file: join(folder, 'Containerfile.postgres'), context: folder, image: postgresImage })
}

type Build = {
  readonly file: string
  readonly context: string
  readonly image: string
  readonly buildArguments?: Readonly<Record<string, string>>
}

/** Builds an image in the format of Docker: that of OCI has no health check. */
export const build = ({ file, context, image, buildArguments = {} }: Build): void => {
  const parameters = Object.entries(buildArguments).flatMap(([name, value]) => [
    '--build-arg',
    `${name}=${value}`,
  ])
  run(
    'buildah',
    [
      'bud',
      '--isolation',
      'chroot',
      '--format',
      'docker',
      '--no-cache',
      '--file',
      file,
      '--tag',
      image,
      ...parameters,
      context,
    ],
    { timeoutMs: 900_000 },
  )
}

/** Makes the base images that are not here yet. No registry is asked. */
export const makeBaseImages = (): Readonly<Record<'debian' | 'node' | 'postgres', string>> => {
  const folder = mkdtempSync(join(tmpdir(), 'pohf-base-'))
  try {
    if (!hasImage(debianImage)) makeDebian(folder)
    if (!hasImage(nodeImage)) makeNode(folder)
    if (!hasImage(postgresImage)) makePostgres(folder)
    return { debian: debianImage, node: nodeImage, postgres: postgresImage }
  } finally {
    spawnSync('umount', ['--recursive', join(folder, 'debian/proc')])
    rmSync(folder, { recursive: true, force: true })
  }
}
