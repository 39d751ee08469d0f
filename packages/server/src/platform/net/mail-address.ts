import { getDomain } from 'tldts'

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

/** Providers that give anyone a mailbox: their domain identifies nobody. */
const publicMailDomains: ReadonlySet<string> = new Set(
  'gmail.com googlemail.com outlook.com hotmail.com live.com msn.com yahoo.com ymail.com icloud.com me.com aol.com proton.me protonmail.com pm.me gmx.de gmx.net gmx.com web.de mail.com zoho.com fastmail.com yandex.ru yandex.com mail.ru qq.com 163.com 126.com'.split(
    ' ',
  ),
)
/**
 * Who owns a normalised address: the registrable domain by the public suffix list, or at a public
 * provider the mailbox. The list's private part, such as github.io or eu.org, does not count as a suffix: there anybody
 * gets any number of names for free.
 */
export const mailOwnerOf = (address: string): string => {
  const domain = mailDomainOf(address)
  if (publicMailDomains.has(domain)) return mailboxOf(address)
  return getDomain(domain, { allowPrivateDomains: false }) ?? domain
}
