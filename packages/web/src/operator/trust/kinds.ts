/** The kinds of trust roots, and what their names are. */
export const trustKinds = [
  ['directory', 'Key directory', 'https origin, such as https://agent.example'],
  ['jwks', 'Key set of a network', 'a name of your own, in lower case'],
  ['issuer', 'Issuer of mandates', 'its iss, as it is in the mandates'],
] as const

const names: ReadonlyMap<string, string> = new Map(trustKinds.map(([kind, name]) => [kind, name]))
export const trustKindText = (kind: string): string => names.get(kind) ?? kind
