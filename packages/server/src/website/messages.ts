import type { Language } from '../platform/http/negotiation.ts'
import type { PartName, PartState } from './rules.ts'

type ErrorText = { readonly title: string; readonly text: string; readonly next: string }
/** The texts of the pages that people of every language meet: errors and status. */
export type Messages = {
  readonly errors: Readonly<Record<404 | 405 | 429 | 500 | 503, ErrorText>>
  readonly reference: string
  readonly referenceHelp: string
  readonly home: string
  readonly statusLink: string
  readonly meaning: string
  readonly status: {
    readonly title: string
    readonly allWork: string
    readonly someFail: string
    readonly lead: string
    readonly at: string
    readonly part: string
    readonly state: string
    readonly parts: Readonly<Record<PartName, { readonly name: string; readonly text: string }>>
    readonly states: Readonly<Record<PartState, string>>
  }
}

const en: Messages = {
  errors: {
    404: {
      title: 'There is no such page.',
      text: 'The address may be mistyped, or what was here is gone.',
      next: 'Check the address, or start from the first page.',
    },
    405: {
      title: 'This address is for programs.',
      text: 'It is part of the API and does not answer a browser that opens it.',
      next: 'The API reference says how to call it.',
    },
    429: {
      title: 'Too many requests.',
      text: 'More requests came from your network than are allowed in this time.',
      next: 'Wait a minute and try again.',
    },
    500: {
      title: 'Something broke on our side.',
      text: 'The request failed because of an error in the service. It is logged.',
      next: 'Try again. If it fails again, tell the operator the reference below.',
    },
    503: {
      title: 'The service is not available at the moment.',
      text: 'It is starting, overloaded, or a part that it needs does not answer.',
      next: 'Wait a few seconds and try again.',
    },
  },
  reference: 'Reference',
  referenceHelp: 'The operator finds this request in the log by its reference.',
  home: 'Go to the first page',
  statusLink: 'Status of the service',
  meaning: 'What this error means',
  status: {
    title: 'Status',
    allWork: 'Everything works.',
    someFail: 'Some parts do not work.',
    lead: 'What this server knows of its parts. Credentials that exist can be verified with public keys that you hold, whatever stands here.',
    at: 'Checked at {time} UTC, at most every {seconds} seconds.',
    part: 'Part',
    state: 'State',
    parts: {
      api: { name: 'API', text: 'takes requests and issues credentials' },
      database: { name: 'Database', text: 'stores every change' },
      signer: { name: 'Signer', text: 'signs credentials' },
      worker: { name: 'Worker', text: 'delivers webhooks and mails, and completes payments' },
      chain: { name: 'Payment chain', text: 'settles purchases' },
    },
    states: { working: 'working', failing: 'not working', unknown: 'not known', off: 'not configured' },
  },
}

const de: Messages = {
  errors: {
    404: {
      title: 'Diese Seite gibt es nicht.',
      text: 'Vielleicht ist die Adresse falsch geschrieben, oder was hier war, ist gelöscht.',
      next: 'Prüfen Sie die Adresse, oder beginnen Sie auf der ersten Seite.',
    },
    405: {
      title: 'Diese Adresse ist für Programme.',
      text: 'Sie gehört zur Schnittstelle und antwortet keinem Browser, der sie öffnet.',
      next: 'Die Beschreibung der Schnittstelle sagt, wie man sie aufruft.',
    },
    429: {
      title: 'Zu viele Anfragen.',
      text: 'Aus Ihrem Netz kamen mehr Anfragen, als in dieser Zeit erlaubt sind.',
      next: 'Warten Sie eine Minute und versuchen Sie es noch einmal.',
    },
    500: {
      title: 'Bei uns ist etwas schiefgegangen.',
      text: 'Die Anfrage scheiterte an einem Fehler des Dienstes. Er ist protokolliert.',
      next: 'Versuchen Sie es noch einmal. Scheitert es wieder, nennen Sie dem Betreiber das Zeichen unten.',
    },
    503: {
      title: 'Der Dienst ist gerade nicht verfügbar.',
      text: 'Er startet, ist überlastet, oder ein Teil, den er braucht, antwortet nicht.',
      next: 'Warten Sie einige Sekunden und versuchen Sie es noch einmal.',
    },
  },
  reference: 'Zeichen der Anfrage',
  referenceHelp: 'Der Betreiber findet die Anfrage damit im Protokoll.',
  home: 'Zur ersten Seite',
  statusLink: 'Zustand des Dienstes',
  meaning: 'Was dieser Fehler bedeutet (englisch)',
  status: {
    title: 'Zustand',
    allWork: 'Alles funktioniert.',
    someFail: 'Einige Teile funktionieren nicht.',
    lead: 'Was dieser Server über seine Teile weiß. Vorhandene Nachweise lassen sich mit gespeicherten öffentlichen Schlüsseln prüfen, was auch immer hier steht.',
    at: 'Geprüft um {time} UTC, höchstens alle {seconds} Sekunden.',
    part: 'Teil',
    state: 'Zustand',
    parts: {
      api: { name: 'API', text: 'nimmt Anfragen an und stellt Nachweise aus' },
      database: { name: 'Datenbank', text: 'speichert jede Änderung' },
      signer: { name: 'Signierer', text: 'signiert Nachweise' },
      worker: { name: 'Worker', text: 'stellt Webhooks und Mails zu und schließt Zahlungen ab' },
      chain: { name: 'Blockchain für Zahlungen', text: 'wickelt Käufe ab' },
    },
    states: {
      working: 'funktioniert',
      failing: 'funktioniert nicht',
      unknown: 'nicht bekannt',
      off: 'nicht eingerichtet',
    },
  },
}

export const messagesOf = (language: Language): Messages => (language === 'de' ? de : en)
