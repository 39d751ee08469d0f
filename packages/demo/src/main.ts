import { startSite } from './site.ts'

const requiredSetting = (name: string): string => {
  const value = process.env[name]
  if (!value) throw new Error(`set ${name}`)
  return value
}

const { url } = await startSite({
  pohf: requiredSetting('POHF_URL'),
  site: requiredSetting('POHF_SITE'),
  apiKey: requiredSetting('POHF_KEY'),
  port: Number(process.env['PORT'] ?? 0),
})
process.stdout.write(`${url}\n`)
