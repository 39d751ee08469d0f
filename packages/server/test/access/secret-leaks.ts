import type { Pool } from 'pg'

/** Every row of every table as text, as the owner sees it: what a stolen backup would hold. */
export const dumpTables = async (owner: Pool): Promise<{ text: string; tables: number; rows: number }> => {
  const { rows: tables } = await owner.query<{ name: string }>(
    "select format('%I.%I', table_schema, table_name) as name from information_schema.tables where table_schema not in ('pg_catalog', 'information_schema') and table_type = 'BASE TABLE' order by 1",
  )
  const lines: string[] = []
  for (const { name } of tables) {
    const { rows } = await owner.query<{ text: string }>(`select t::text as text from only ${name} t`)
    lines.push(...rows.map((row) => `${name}: ${row.text}`))
  }
  return { text: lines.join('\n'), tables: tables.length, rows: lines.length }
}

/** How a secret may be written: as it is, without its prefix, in hex, in base64. */
const encodingsOf = (secret: string): string[] => {
  const bytes = Buffer.from(secret)
  // Base64 depends on where the text begins in its surroundings; the middle of each of the three ways shows.
  const base64 = [0, 1, 2].map((offset) =>
    Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .slice(4, -4),
  )
  const url = base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'))
  return [secret, secret.replace(/^svc_[a-z]+_/, ''), bytes.toString('hex'), ...base64, ...url]
}

/** Which of the secrets a text holds, in any form. */
export const findLeakedSecrets = (text: string, secrets: Readonly<Record<string, string>>): string[] =>
  Object.entries(secrets)
    .filter(([, secret]) => encodingsOf(secret).some((form) => text.includes(form)))
    .map(([name]) => name)
