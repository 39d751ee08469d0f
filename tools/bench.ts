// Measurements of the product's own bars. npm run bench -- <name> [--json]
import { verifySdk } from './bench/verify-sdk.ts'
import { webhooksBench } from './bench/webhooks.ts'

const benches: Readonly<Record<string, () => Promise<Readonly<Record<string, unknown>>>>> = {
  'verify-sdk': verifySdk,
  webhooks: webhooksBench,
}

const [name = ''] = process.argv.slice(2).filter((argument) => !argument.startsWith('-'))
const bench = benches[name]
if (bench) {
  const figures = await bench()
  if (process.argv.includes('--json')) console.log(JSON.stringify(figures))
} else {
  console.error(`usage: npm run bench -- ${Object.keys(benches).join(' | ')} [--short] [--json]`)
  process.exitCode = 2
}
