import type { IssuerRule } from '@pohf/protocol'
import type { Language } from '../../platform/http/negotiation.ts'

/** The texts about outside issuers, with `{placeholders}`. `{issuer}` is the host of its address, or its name. */
const en = {
  title: 'Sign in with your company',
  required: 'The person who invited you wants you to sign in with {issuer} before you decide anything.',
  optional: 'You may let {issuer} vouch that you have an account there. You need not.',
  facts: [
    '{issuer} learns that you signed in to this service, and when. It does not learn for which site or decision.',
    'We get the number of your account there and keep a keyed hash of it. We ask for no name and no mail address.',
    'Sites that you are a member of see that {issuer} vouches for you and when you signed in, not which account it was. One account counts as one person.',
    'It takes about half a minute and counts for {hours} hours. After that you sign in again.',
  ],
  button: 'Sign in with {issuer}',
  held: 'Signed in on {at}; counts until {until}.',
  over: 'Signed in on {at}; it no longer counts.',
  withdrawn: '{issuer} has withdrawn its word for you.',
  proofs: 'Who vouches for you',
  proofsNone: 'Nobody vouches for you.',
  stays:
    'Of each account that somebody vouched with, a keyed hash stays for {days} days, so that nobody counts twice. During that time the same account cannot vouch for a new enrolment.',
  returning: 'Back from the sign-in',
  wait: 'One moment. The answer of your company is being checked.',
  doneTitle: 'Thank you, this worked.',
  doneLead: '{issuer} vouches for you until {until}.',
  next: 'Continue',
  failedTitle: 'This did not work.',
  back: 'Back, to try again',
  lost: 'This page belongs to a sign-in that was begun in another tab or was finished before. Go back to where you began.',
  unavailable: 'The sign-in of the company did not answer. Try again in a few minutes.',
  offline: 'The service did not answer. Check your connection and try again.',
  sign_in_required: 'Your own sign-in here has ended. Sign in with your passkey and begin again.',
  duplicate: 'This account already vouches for another person here. One account is one person.',
  otherwise: 'The answer was refused ({code}).',
  rules: {
    denied: 'The company did not let you in, or you stopped the sign-in.',
    expired: 'The sign-in took too long, or it was not a new one. Try again.',
    state_unknown: 'This sign-in was not begun here. Begin again.',
    state_used: 'This sign-in was used before. Begin again.',
    wrong_person: 'This sign-in was begun by somebody else in this browser. Begin again.',
    wrong_session: 'This sign-in was begun for something else. Begin again.',
    wrong_origin: 'This sign-in was begun on another page. Begin again.',
    wrong_state: 'The answer belongs to another sign-in. Begin again.',
    wrong_nonce: 'The answer belongs to another sign-in. Begin again.',
    not_trusted:
      'The account is not one of this company, or the way you signed in is too weak. Use the account and the security key or app that your company gave you.',
    claim_missing:
      'The company did not say all that is needed. Tell the person who set it up: a claim is missing.',
    signature: 'The answer was not signed by the company. Tell the person who set it up.',
    code_refused: 'The company did not recognise the sign-in any more. Try again.',
    withdrawn: 'Your company has closed this account. Ask them if that is wrong.',
    suspended: 'The operator of this service accepts no sign-ins of this company at the moment.',
    erased:
      'You deleted your data here a while ago. So that nobody counts twice, this account can vouch again only later.',
  } satisfies Record<IssuerRule, string>,
}
export type IssuerMessages = typeof en

const de: IssuerMessages = {
  title: 'Mit Ihrer Firma anmelden',
  required:
    'Wer Sie eingeladen hat, möchte, dass Sie sich mit {issuer} anmelden, bevor Sie etwas entscheiden.',
  optional: 'Sie können {issuer} bestätigen lassen, dass Sie dort ein Konto haben. Sie müssen es nicht.',
  facts: [
    '{issuer} erfährt, dass und wann Sie sich bei diesem Dienst angemeldet haben, aber nicht für welche Seite oder Entscheidung.',
    'Wir bekommen die Nummer Ihres Kontos dort und behalten davon nur einen Hash unter einem geheimen Schlüssel. Nach Namen und Mailadresse fragen wir nicht.',
    'Anwendungen, deren Mitglied Sie sind, sehen, dass {issuer} für Sie bürgt und wann Sie sich angemeldet haben, aber nicht mit welchem Konto. Ein Konto zählt als eine Person.',
    'Es dauert etwa eine halbe Minute und gilt {hours} Stunden. Danach melden Sie sich neu an.',
  ],
  button: 'Mit {issuer} anmelden',
  held: 'Angemeldet am {at}; gilt bis {until}.',
  over: 'Angemeldet am {at}; es gilt nicht mehr.',
  withdrawn: '{issuer} hat die Bestätigung für Sie zurückgezogen.',
  proofs: 'Wer für Sie bürgt',
  proofsNone: 'Niemand bürgt für Sie.',
  stays:
    'Von jedem Konto, mit dem jemand für Sie gebürgt hat, bleibt für {days} Tage ein Hash unter einem geheimen Schlüssel, damit niemand doppelt zählt. Solange kann dasselbe Konto nicht für eine neue Anmeldung bürgen.',
  returning: 'Zurück von der Anmeldung',
  wait: 'Einen Moment. Die Antwort Ihrer Firma wird geprüft.',
  doneTitle: 'Danke, das hat geklappt.',
  doneLead: '{issuer} bürgt für Sie bis {until}.',
  next: 'Weiter',
  failedTitle: 'Das hat nicht geklappt.',
  back: 'Zurück, um es noch einmal zu versuchen',
  lost: 'Diese Seite gehört zu einer Anmeldung, die in einem anderen Tab begonnen oder schon beendet wurde. Kehren Sie dorthin zurück, wo Sie begonnen haben.',
  unavailable: 'Die Anmeldung der Firma hat nicht geantwortet. Versuchen Sie es in ein paar Minuten erneut.',
  offline: 'Der Dienst hat nicht geantwortet. Prüfen Sie die Verbindung und versuchen Sie es erneut.',
  sign_in_required:
    'Ihre eigene Anmeldung hier ist abgelaufen. Melden Sie sich mit Ihrem Passkey an und beginnen Sie neu.',
  duplicate: 'Dieses Konto bürgt hier schon für eine andere Person. Ein Konto ist eine Person.',
  otherwise: 'Die Antwort wurde abgelehnt ({code}).',
  rules: {
    denied: 'Die Firma hat Sie nicht eingelassen, oder Sie haben die Anmeldung abgebrochen.',
    expired: 'Die Anmeldung hat zu lange gedauert, oder es war keine neue. Versuchen Sie es erneut.',
    state_unknown: 'Diese Anmeldung wurde nicht hier begonnen. Beginnen Sie neu.',
    state_used: 'Diese Anmeldung wurde schon verwendet. Beginnen Sie neu.',
    wrong_person: 'Diese Anmeldung hat in diesem Browser jemand anderes begonnen. Beginnen Sie neu.',
    wrong_session: 'Diese Anmeldung wurde für etwas anderes begonnen. Beginnen Sie neu.',
    wrong_origin: 'Diese Anmeldung wurde auf einer anderen Seite begonnen. Beginnen Sie neu.',
    wrong_state: 'Die Antwort gehört zu einer anderen Anmeldung. Beginnen Sie neu.',
    wrong_nonce: 'Die Antwort gehört zu einer anderen Anmeldung. Beginnen Sie neu.',
    not_trusted:
      'Das Konto gehört nicht zu dieser Firma, oder die Art der Anmeldung ist zu schwach. Verwenden Sie das Konto und den Schlüssel oder die App, die Ihre Firma Ihnen gegeben hat.',
    claim_missing:
      'Die Firma hat nicht alles gesagt, was nötig ist. Sagen Sie es der Person, die sie eingerichtet hat: Ein Claim fehlt.',
    signature:
      'Die Antwort ist nicht von der Firma signiert. Sagen Sie es der Person, die sie eingerichtet hat.',
    code_refused: 'Die Firma hat die Anmeldung nicht wiedererkannt. Versuchen Sie es erneut.',
    withdrawn: 'Ihre Firma hat dieses Konto geschlossen. Fragen Sie dort nach, wenn das nicht stimmt.',
    suspended: 'Der Betreiber dieses Dienstes nimmt zurzeit keine Anmeldungen dieser Firma an.',
    erased:
      'Sie haben Ihre Daten hier vor einiger Zeit gelöscht. Damit niemand doppelt zählt, kann dieses Konto erst später wieder bürgen.',
  },
}
export const issuerMessages: Readonly<Record<Language, IssuerMessages>> = { en, de }

/** How pages call an issuer: by the host of its address, which its sign-in page shows too. */
export const issuerText = (issuerId: string): string =>
  URL.canParse(issuerId) ? new URL(issuerId).host : issuerId
