import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'

const duration = z
  .string()
  .regex(/^\d+s$/)
  .transform((text) => Number(text.slice(0, -1)))
const texts = z.array(z.string())

const healthcheck = z.union([
  z.strictObject({ disable: z.literal(true) }),
  z.strictObject({
    test: texts.min(2),
    interval: duration,
    timeout: duration,
    start_period: duration,
    retries: z.int().min(1),
  }),
])

/** What a service of deploy/compose.yml can say. Every key is known here, so that none is overlooked when it is run. */
const service = z.strictObject({
  image: z.string(),
  build: z.strictObject({ context: z.string(), dockerfile: z.string() }).optional(),
  command: texts.optional(),
  user: z.string().optional(),
  init: z.boolean().default(false),
  restart: z.enum(['no', 'unless-stopped']),
  read_only: z.boolean().default(false),
  cap_drop: texts.default([]),
  security_opt: texts.default([]),
  logging: z.strictObject({ driver: z.string(), options: z.record(z.string(), z.string()) }).optional(),
  tmpfs: texts.default([]),
  shm_size: z.string().optional(),
  mem_limit: z.string().optional(),
  pids_limit: z.int().optional(),
  stop_signal: z.string().optional(),
  stop_grace_period: duration,
  env_file: texts.default([]),
  environment: z.record(z.string(), z.string()).default({}),
  secrets: texts.default([]),
  network_mode: z.literal('none').optional(),
  networks: texts.default([]),
  ports: texts.default([]),
  volumes: texts.default([]),
  depends_on: z
    .record(
      z.string(),
      z.strictObject({ condition: z.enum(['service_healthy', 'service_completed_successfully']) }),
    )
    .default({}),
  healthcheck: healthcheck.optional(),
})

const network = z.strictObject({
  internal: z.boolean().default(false),
  ipam: z.strictObject({ config: z.array(z.strictObject({ subnet: z.string() })) }).optional(),
})

const composeFile = z.looseObject({
  name: z.string(),
  services: z.record(z.string(), service),
  networks: z.record(z.string(), network),
  volumes: z.record(z.string(), z.null()),
  secrets: z.record(z.string(), z.strictObject({ file: z.string() })),
})

export type Compose = z.output<typeof composeFile>
export type Service = z.output<typeof service>

/** Reads a compose file; variables of the form ${NAME:-default} get their defaults. */
export const readCompose = (text: string): Compose =>
  composeFile.parse(parse(text.replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1'), { merge: true }))

export const composePath = resolve(import.meta.dirname, '../../deploy/compose.yml')
export const readDeployedCompose = (): Compose => readCompose(readFileSync(composePath, 'utf8'))

/** What would let a container do more than it needs, or run away. */
export const serviceFaults = (name: string, { healthcheck: check, ...each }: Service): string[] => {
  const rules: readonly (readonly [string, boolean])[] = [
    ['its root file system is writable', !each.read_only],
    ['it keeps capabilities', each.cap_drop.join() !== 'ALL'],
    ['it may get new privileges', !each.security_opt.includes('no-new-privileges:true')],
    ['it has no memory limit', each.mem_limit === undefined],
    ['it has no limit of processes', each.pids_limit === undefined],
    ['its log has no limit', each.logging?.options['max-size'] === undefined],
    ['its tmpfs has no size', each.tmpfs.some((mount) => !mount.includes('size='))],
    ['a port is open to other machines', each.ports.some((port) => !port.startsWith('127.0.0.1:'))],
    ['a secret is in its environment', Object.keys(each.environment).some(isSecretName)],
    ['it has no health check', each.restart !== 'no' && name !== 'worker' && isDisabled(name, check)],
  ]
  return rules.flatMap(([fault, broken]) => (broken ? [`${name}: ${fault}`] : []))
}

const isSecretName = (name: string): boolean => /(?:PASSWORD|SECRET|_URL|_KEY)$/.test(name)
/** The image has the health check of the api. */
const isDisabled = (name: string, check: Service['healthcheck']): boolean =>
  check === undefined ? name !== 'api' : 'disable' in check

/** The order in which the services can start: each after those that it depends on. */
export const startOrder = ({ services }: Compose): string[] => {
  const order: string[] = []
  const visit = (name: string, path: readonly string[]): void => {
    if (path.includes(name)) throw new Error(`services depend on each other: ${[...path, name].join(', ')}`)
    const found = services[name]
    if (!found) throw new Error(`service ${path.at(-1)} depends on ${name}, which does not exist`)
    for (const other of Object.keys(found.depends_on)) visit(other, [...path, name])
    if (!order.includes(name)) order.push(name)
  }
  for (const name of Object.keys(services)) visit(name, [])
  return order
}

export const composeFolder = dirname(composePath)
