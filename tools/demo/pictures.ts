import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { DemoAccess } from '../../packages/server/dev/demo.ts'
import { waitForContent, type Browser, type Page } from './views.ts'

const size = { width: 1200, height: 750 }
/** So that a clone stays small. */
const bytesMax = 150_000

const callApi = async <T>({ baseUrl, live }: DemoAccess, path: string): Promise<T> => {
  const answer = await fetch(`${baseUrl}${path}`, { headers: { authorization: `Bearer ${live.apiKey}` } })
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as T
}

/** The newest credential of the demo that is active. */
const readCredential = async (access: DemoAccess): Promise<string> => {
  type List = { readonly credentials: readonly { readonly credentialId: string }[] }
  const { credentials } = await callApi<List>(access, '/api/agents/credentials?status=active&limit=1')
  const [first] = credentials
  if (!first) throw new Error('the demo data has no active credential')
  type Credential = { readonly pohf_jwt: string }
  return (await callApi<Credential>(access, `/api/agents/credentials/${first.credentialId}`)).pohf_jwt
}

/** The picture of the README: the seal of a credential that was checked. */
export const takePictures = async (browser: Browser, access: DemoAccess, folder: string): Promise<number> => {
  const context = await browser.newContext({ viewport: size, colorScheme: 'light', reducedMotion: 'reduce' })
  const page = await context.newPage()
  const take = async (name: string, open: (page: Page) => Promise<void>): Promise<void> => {
    await open(page)
    await waitForContent(page)
    const path = join(folder, `${name}.png`)
    await page.screenshot({ path })
    const { size: bytes } = statSync(path)
    if (bytes > bytesMax) throw new Error(`${path} has ${bytes} bytes; at most ${bytesMax}`)
    console.log(`${path}: ${bytes} bytes`)
  }
  const credential = await readCredential(access)
  await take('seal', async () => {
    await page.goto(`${access.baseUrl}/verify#${credential}`)
    await page.locator('.seal').first().waitFor()
  })
  await context.close()
  return 1
}
