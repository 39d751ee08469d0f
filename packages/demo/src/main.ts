import { startSite } from './site.ts'

const given = (name: string): string => {
  const value = process.env[name]
  if (!value) throw new Error(`set ${name}`)
  return value
}

const { url } = await startSite({
  pohf: given('POHF_URL'),
  site: given('POHF_SITE'),
  apiKey: given('POHF_KEY'),
  port: Number(process.env['PORT'] ?? 0),
})
process.stdout.write(`${url}\n`)
