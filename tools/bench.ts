// Measurements of the product's own bars. npm run bench -- <name> [--json] [--sessions N --seconds N]
import { sessions } from './bench/sessions.ts'
import { verifySdk } from './bench/verify-sdk.ts'

const benches: Readonly<Record<string, () => Promise<Readonly<Record<string, unknown>>>>> = {
  'verify-sdk': verifySdk,
  sessions,
}

const [name = ''] = process.argv.slice(2).filter((argument) => !argument.startsWith('-'))
const bench = benches[name]
if (bench) {
  const figures = await bench()
  if (process.argv.includes('--json')) console.log(JSON.stringify(figures))
} else {
  console.error(`usage: npm run bench -- ${Object.keys(benches).join(' | ')} [--json]`)
  process.exitCode = 2
}
