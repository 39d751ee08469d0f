import { z } from 'zod'

const ibanForm = /^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/
const otherForm = /^[A-Z0-9][A-Z0-9@+]{6,62}[A-Z0-9]$/

/** ISO 7064 MOD 97-10. Only 02 to 98 are valid: 00, 01 and 99 would be second ways to write 97, 98 and 02. */
const isIban = (iban: string): boolean => {
  const check = Number(iban.slice(2, 4))
  if (check < 2 || check > 98) return false
  let rest = 0
  for (const character of iban.slice(4) + iban.slice(0, 4))
    for (const digit of String(Number.parseInt(character, 36))) rest = (rest * 10 + Number(digit)) % 97
  return rest === 1
}

/**
 * One text for all ways to write an account: an IBAN, or else the id of an account at a payment provider, in capitals
 * and without separators. Undefined for a text that is neither.
 */
export const normalizePayoutAccount = (text: string): string | undefined => {
  const compact = text
    .normalize('NFKC')
    .toUpperCase()
    .replaceAll(/[\s.-]/gu, '')
  const iban = compact.replace(/^IBAN:?(?=[A-Z]{2}\d{2})/, '')
  if (ibanForm.test(iban)) return isIban(iban) ? iban : undefined
  // A provider that knows people by a mail address delivers every +tag of it to the same person.
  const other = compact.replaceAll(/[_:/]/g, '').replace(/\+[^@]*(?=@)/, '')
  return otherForm.test(other) ? other : undefined
}

/** An account as people write it. No message repeats it. */
export const payoutAccount = () =>
  z
    .string()
    .min(8)
    .max(100)
    .refine(
      (text) => normalizePayoutAccount(text) !== undefined,
      'must be an IBAN with valid check digits, or the id of an account at a payment provider: 8 to 64 letters, digits and @',
    )
    .meta({
      description:
        'An IBAN, or the id of an account at a payment provider. Spaces, separators and case do not matter. Only a keyed hash and the last four characters are stored.',
    })
