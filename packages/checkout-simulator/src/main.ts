// The simulator as a process. It prints one line of JSON with its address when it is ready.
import { startServer } from './server.ts'

const requireVariable = (name: string): string => {
  const value = process.env[name]
  if (!value) {
    process.stderr.write(`${name} is required. See packages/checkout-simulator/README.md.\n`)
    process.exit(2)
  }
  return value
}

const simulator = await startServer({
  port: Number(process.env['SIMULATOR_PORT'] ?? '0'),
  secretKey: requireVariable('SIMULATOR_SECRET_KEY'),
  webhookUrl: requireVariable('SIMULATOR_WEBHOOK_URL'),
  webhookSecret: requireVariable('SIMULATOR_WEBHOOK_SECRET'),
  file: process.env['SIMULATOR_FILE'],
})
process.stdout.write(`${JSON.stringify({ url: simulator.url })}\n`)

const stop = () => void simulator.stop().then(() => process.exit(0))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop)
// The parent process has ended.
process.stdin.on('end', stop).resume()
