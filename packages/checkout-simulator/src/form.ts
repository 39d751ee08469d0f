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
    let place = form
    for (const part of path.slice(0, Math.min(path.length - 1, depthMax))) {
      const next = place[part]
      place = typeof next === 'object' ? next : (place[part] = Object.create(null) as Form)
    }
    // `types[]=a` twice is a list: it gets numbers.
    const last = path.at(-1) ?? ''
    place[last === '' ? String(Object.keys(place).length) : last] = value
  }
  return form
}

/** The value at a path, or undefined. */
export const at = (form: Form, ...path: string[]): string | Form | undefined => {
  let place: string | Form | undefined = form
  for (const part of path) place = typeof place === 'object' ? place[part] : undefined
  return place
}
export const textAt = (form: Form, ...path: string[]): string | undefined => {
  const value = at(form, ...path)
  return typeof value === 'string' ? value : undefined
}
export const listAt = (form: Form, ...path: string[]): (string | Form)[] => {
  const value = at(form, ...path)
  return typeof value === 'object' ? Object.values(value) : []
}
