import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { doors } from '@pohf/protocol/story'
import { findChromium, launch } from '../../web/test/browser.ts'
import { actAsPerson, answerUntil, personsBrowser, startFixture, trackSession } from './fixture.ts'

const chromium = findChromium()
const skip = 'missing' in chromium ? chromium.missing : false
const run = promisify(execFile)

test(
  'the form of the README, pasted and opened as a file, passes a visitor whom the call then accepts',
  {
    skip,
  },
  async () => {
    assert.ok('path' in chromium)
    const example = doors.find(({ name }) => name === 'gate-a-form')?.example ?? ''
    const fixture = await startFixture()
    after(() => fixture.close())
    const folder = mkdtempSync(join(tmpdir(), 'pohf-form-'))
    after(() => rmSync(folder, { recursive: true, force: true }))
    const { agentId, apiKey } = await fixture.harness.register('test')
    const paste = async (block: string): Promise<string> => {
      const env = {
        PATH: process.env['PATH'],
        POHF_URL: fixture.service.url,
        POHF_KEY: apiKey,
        POHF_AGENT_ID: agentId,
      }
      return (await run('bash', ['-euo', 'pipefail', '-c', block], { cwd: folder, env })).stdout
    }
    assert.equal((await paste(example)).trim(), '{"success":true,"assurance":"low"}')

    const browser = await launch(chromium.path)
    after(() => browser.close())
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...personsBrowser })
    await actAsPerson(context)
    const page = await context.newPage()
    trackSession(page)
    await page.goto(pathToFileURL(join(folder, 'form.html')).href)
    await page.click('pohf-check .go')
    await answerUntil(page, fixture, 'passed')
    await page.getByRole('button', { name: 'Send' }).click()
    await page.waitForURL(/pohf-session=/)
    const response = new URL(page.url()).searchParams.get('pohf-session') ?? ''
    assert.match(response, /^ses_/)
    const call = example.slice(example.indexOf('curl')).replace('form-$RANDOM', response)
    assert.equal((await paste(call)).trim(), '{"success":true,"assurance":"low"}')
  },
)
