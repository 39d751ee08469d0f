/** A body as the provider's SDK writes it: `a[b][0][c]=d`. Everything is text; lists are objects by number. */
export type Form = { [name: string]: string | Form }

const depthMax = 8
const fieldsMax = 500

export const readForm = (body: string): Form => {
  const form: Form = Object.create(null) as Form
  let fields = 0
  for (const [name, value] of new URLSearchParams(body)) {
    if (++fields > fieldsMax) break
    const path = [
      name.split('[')[0] ?? '',
      ...[...name.matchAll(/\[([^\]]*)\]/g)].map((match) => match[1] ?? ''),
    ]
    let level = form
    for (const part of path.slice(0, Math.min(path.length - 1, depthMax))) {
      const next = level[part]
      level = typeof next === 'object' ? next : (level[part] = Object.create(null) as Form)
    }
    // `types[]=a` twice is a list: it gets numbers.
    const last = path.at(-1) ?? ''
    level[last === '' ? String(Object.keys(level).length) : last] = value
  }
  return form
}

/** The value at a path, or undefined. */
export const at = (form: Form, ...path: string[]): string | Form | undefined => {
  let level: string | Form | undefined = form
  for (const part of path) level = typeof level === 'object' ? level[part] : undefined
  return level
}
export const textAt = (form: Form, ...path: string[]): string | undefined => {
  const value = at(form, ...path)
  return typeof value === 'string' ? value : undefined
}
export const listAt = (form: Form, ...path: string[]): (string | Form)[] => {
  const value = at(form, ...path)
  return typeof value === 'object' ? Object.values(value) : []
}
