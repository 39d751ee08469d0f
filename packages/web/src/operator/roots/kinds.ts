/** The kinds of roots that an operator can name, and what their names are. */
export const rootKinds = [
  ['authenticator', 'Model of authenticator', 'AAGUID'],
  ['app', 'App', 'App ID or package name'],
  ['organization', 'Company', 'name of the issuer'],
  ['world_id', 'World ID', 'name of the issuer'],
  ['vendor', 'Identity vendor', 'name of the issuer'],
  ['network', 'Network', 'address, IPv4 /24, IPv6 /64 or /48; it is not stored'],
] as const

const names: ReadonlyMap<string, string> = new Map<string, string>([
  ...rootKinds.map(([kind, name]) => [kind, name] as const),
  ['payout_account', 'Payout account'],
])
export const rootKindText = (kind: string): string => names.get(kind) ?? kind
