// Writes every delivery it gets as one JSON line into the file of its first argument; its port goes beside it.
import { appendFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'

const [file] = process.argv.slice(2)
const server = createServer((request, response) => {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    // The raw bytes count: a signature is over what was sent, not over what a parser made of it.
    appendFileSync(
      file,
      `${JSON.stringify({ headers: request.headers, body: Buffer.concat(chunks).toString('utf8') })}\n`,
    )
    response.end('ok')
  })
})
server.listen(0, '127.0.0.1', () => writeFileSync(`${file}.port`, String(server.address().port)))
