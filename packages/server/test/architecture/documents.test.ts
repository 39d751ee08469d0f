import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loggedMessages, missingFiles, readDocuments, readKnownNames, unknownNames } from './documents.ts'
import { readSources } from './import-rules.ts'

const documents = readDocuments()

test('every file that a document names exists', (t) => {
  t.diagnostic(`saw ${documents.length} documents`)
  assert.ok(documents.length >= 100)
  assert.deepEqual(documents.flatMap(missingFiles), [])
})

const knownNames = await readKnownNames()

test('every npm script, battery, command and endpoint that a document names exists', () => {
  const { scripts, commands, calls } = knownNames
  assert.ok(scripts.size > 0 && commands.size >= 40 && calls.size >= 130)
  assert.deepEqual(
    documents.flatMap((document) => unknownNames(document, knownNames)),
    [],
  )
})

test('every log message that operations.md explains is in the sources', () => {
  const page = documents.find(({ path }) => path === 'docs/operate/operations.md')?.text ?? ''
  const messages = loggedMessages(page)
  assert.ok(messages.length >= 5, `saw only ${messages.length} messages`)
  const sources = readSources()
  assert.deepEqual(
    messages.filter((message) => !sources.some(({ text }) => text.includes(`'${message}`))),
    [],
  )
})

const plantedDocument = (text: string) => ({ path: 'docs/planted.md', text })
const unknownIn = (text: string) => unknownNames(plantedDocument(text), knownNames)

test('a planted script, battery, command and endpoint that do not exist are found', () => {
  assert.deepEqual(
    unknownIn(
      '`npm run check`, `npm run battery -- kill`, `pohf keys rotate live`, `GET /api/agents/orders/{id}`',
    ),
    [],
  )
  assert.deepEqual(unknownIn('`npm run nothing`'), ['docs/planted.md: npm run nothing'])
  assert.deepEqual(unknownIn('`npm run battery -- nothing`'), ['docs/planted.md: battery -- nothing'])
  assert.deepEqual(unknownIn('`pohf keys forget`'), ['docs/planted.md: `pohf keys forget'])
  assert.deepEqual(unknownIn('POST /api/agents/nothing.'), ['docs/planted.md: POST /api/agents/nothing'])
})

test('a planted missing file and log message are found', () => {
  assert.deepEqual(
    missingFiles(plantedDocument('`packages/nowhere.ts`, `docs/glossary.md`, npx node tools/nothing.ts')),
    ['docs/planted.md: packages/nowhere.ts', 'docs/planted.md: tools/nothing.ts'],
  )
  assert.deepEqual(loggedMessages('| Error in the log | Do |\n| --- | --- |\n| `it broke` | mend it |\n'), [
    'it broke',
  ])
})
