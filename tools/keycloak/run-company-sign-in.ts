// Employees of a company sign in at a real Keycloak: its answers, changed, are refused by named rules; in Chromium a person enrols
// and decides; and a person whom the company has removed is out.
import { z } from 'zod'
import { closingAfter, makeFolder } from '../driver/closing.ts'
import { readFigures } from '../driver/child.ts'
import { runProgram, starting } from '../driver/program.ts'
import { tableOfFigures } from '../driver/report.ts'
import { findMissing, installKeycloak } from './install.ts'
import { startKeycloak } from './start.ts'

const mutationsMin = 25
const tests = {
  mutations: 'tools/keycloak/mutations.long.test.ts',
  people: 'tools/keycloak/people.long.test.ts',
}

const mutationFigures = z.object({ mutations: z.int(), accepted: z.int(), wrong: z.array(z.string()) })
const peopleFigures = z.record(z.string(), z.boolean())

await runProgram({
  command: 'battery -- company-sign-in',
  title: 'Company sign-in',
  about:
    'A Keycloak on this machine with the realm of tools/keycloak/realm.json, and the whole service. `mutations`: changed answers of the realm, `accepted`: those that got through. The other figures say what was seen of people who sign in with their company.',
  options: { mutations: 0 },
  smoke: { mutations: 5 },
  minutes: () => 45,
  missing: findMissing,
  run: ({ mutations, smoke }) =>
    closingAfter(async (defer) => {
      starting('Keycloak')
      const home = await installKeycloak()
      const keycloak = await startKeycloak(home, makeFolder('keycloak', defer))
      defer(keycloak.stop)
      const environment = {
        POHF_KEYCLOAK_URL: keycloak.url,
        POHF_KEYCLOAK_PASSWORD: keycloak.adminPassword,
        POHF_KEYCLOAK_MUTATIONS: String(mutations),
      }
      const changed = await readFigures(tests.mutations, 'POHF_COMPANY_FIGURES', environment)
      const people = smoke ? undefined : await readFigures(tests.people, 'POHF_COMPANY_FIGURES', environment)
      const counted = mutationFigures.safeParse(changed.figures).data ?? {
        mutations: 0,
        accepted: 0,
        wrong: [],
      }
      const seen = peopleFigures.safeParse(people?.figures).data ?? {}
      const figures = { mutations: counted.mutations, accepted: counted.accepted, ...seen }
      const least = mutations === 0 ? mutationsMin : mutations
      return {
        figures,
        tables: [tableOfFigures(figures)],
        faults: [
          ...(changed.code === 0 ? [] : [`the test of mutations ended with ${changed.code}`]),
          ...(people === undefined || people.code === 0
            ? []
            : [`the test of people ended with ${people.code}`]),
          ...(counted.mutations >= least
            ? []
            : [`${counted.mutations} mutations were made, expected ${least}`]),
          ...(counted.accepted === 0 ? [] : [`${counted.accepted} changed answers were accepted`]),
          ...counted.wrong,
          ...Object.entries(seen).flatMap(([what, holds]) => (holds ? [] : [`not seen: ${what}`])),
        ],
        holds: smoke
          ? 'no changed answer was accepted'
          : 'no changed answer was accepted, and people are in and out as their company says',
      }
    }),
})
