/** Mail addresses as they are stored and compared. No mail provider of note tells A@x from a@x. */
export const normaliseEmail = (address: string): string => {
  const text = address.trim().normalize('NFC').toLowerCase()
  const at = text.lastIndexOf('@')
  // Internationalised domains are stored as DNS knows them.
  return `${text.slice(0, at)}@${new URL(`http://${text.slice(at + 1)}`).hostname}`
}

export const mailDomainOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1)

const dotlessDomains: ReadonlySet<string> = new Set(['gmail.com', 'googlemail.com'])

/** The mailbox behind a normalised address: without its +suffix, and at Google without dots. */
export const mailboxOf = (address: string): string => {
  const domain = mailDomainOf(address)
  const [name = ''] = address.slice(0, address.lastIndexOf('@')).split('+')
  return dotlessDomains.has(domain) ? `${name.replaceAll('.', '')}@gmail.com` : `${name}@${domain}`
}
