/** Programs that run inside a container and print one JSON value about it. */

/** What the kernel says about this process: user, capabilities, new privileges, system call filter. */
export const statusProgram = `
import { readFileSync } from 'node:fs'
const status = Object.fromEntries(
  readFileSync('/proc/self/status', 'utf8').split('\\n').map((line) => line.split(/:\\s+/)),
)
console.log(JSON.stringify({
  user: status.Uid.split('\\t')[0],
  group: status.Gid.split('\\t')[0],
  capabilities: [status.CapInh, status.CapPrm, status.CapEff, status.CapBnd, status.CapAmb],
  noNewPrivileges: status.NoNewPrivs,
  systemCallFilter: status.Seccomp,
}))`

/** The folders in which this process can make a file, of all that it can see. */
export const writableProgram = `
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
const writable = []
let seen = 0
const visit = (folder) => {
  if (folder === '/proc' || folder === '/sys') return
  seen += 1
  const probe = join(folder, '.pohf-probe')
  try { writeFileSync(probe, ''); rmSync(probe); writable.push(folder) } catch {}
  let entries = []
  try { entries = readdirSync(folder, { withFileTypes: true }) } catch {}
  for (const entry of entries) if (entry.isDirectory()) visit(join(folder, entry.name))
}
visit('/')
console.log(JSON.stringify({ seen, writable }))`

/** Whether what this process knows of its environment, its mounts and its parent contains a text. */
export const environmentProgram = (text: string): string => `
import { readFileSync } from 'node:fs'
const known = ['/proc/1/environ', '/proc/self/environ', '/proc/1/cmdline'].map((file) => readFileSync(file, 'utf8'))
console.log(JSON.stringify(known.some((each) => each.includes(${JSON.stringify(text)}))))`

export const networksProgram = `
import { readdirSync } from 'node:fs'
console.log(JSON.stringify(readdirSync('/sys/class/net')))`

/** Whether the decoder of images, a library that is not JavaScript, works. */
export const imageProgram = `
import { createRequire } from 'node:module'
const sharp = createRequire('/app/packages/server/package.json')('sharp')
const png = await sharp({ create: { width: 4, height: 4, channels: 3, background: 'red' } }).png().toBuffer()
console.log(JSON.stringify((await sharp(png).metadata()).width === 4))`

/** The most memory that each process of Node in this container ever had, in MB. */
export const memoryProgram = `
import { readdirSync, readFileSync } from 'node:fs'
const peaks = readdirSync('/proc').filter((name) => /^\\d+$/.test(name) && Number(name) !== process.pid).flatMap((pid) => {
  try {
    const status = readFileSync('/proc/' + pid + '/status', 'utf8')
    return /^Name:\\s+(?:node|MainThread)/m.test(status) ? [Number(/^VmHWM:\\s+(\\d+)/m.exec(status)?.[1] ?? 0) / 1024] : []
  } catch { return [] }
})
console.log(JSON.stringify(Math.round(Math.max(0, ...peaks))))`
