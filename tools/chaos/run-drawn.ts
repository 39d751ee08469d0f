// Opens requests with values of all blocks of Unicode on the approver's page in Chromium, and compares the order of what is drawn
// with the order of the value. The suite does so with a few values.
import { readFigures } from '../driver/child.ts'
import { runProgram } from '../driver/program.ts'
import { tableOfFigures } from '../driver/report.ts'

await runProgram({
  command: 'battery -- drawn',
  title: 'What is drawn is what is signed',
  about:
    "Values of characters of every block of Unicode, each as a key and as a value of requests on the approver's page in Chromium. `refused`: no request can have it. `marked`: shown with a note. `differ`: drawn in another order than that of its characters.",
  options: { values: 10_000, seed: 1 },
  smoke: { values: 20 },
  minutes: ({ values }) => 20 + values / 100,
  run: async ({ values, seed }) => {
    const { code, figures: counted } = await readFigures(
      'packages/web/test/approve-drawn.test.ts',
      'POHF_DRAWN_FIGURES',
      { POHF_DRAWN_VALUES: String(values), POHF_DRAWN_SEED: String(seed) },
    )
    const figures = (counted ?? {}) as Readonly<Record<string, number>>
    return {
      figures,
      tables: [tableOfFigures(figures)],
      faults: [
        ...(code === 0 ? [] : [`the test ended with ${code}`]),
        ...(figures['differ'] === 0 ? [] : [`${figures['differ']} values are drawn in another order`]),
        ...(figures['values'] === values ? [] : [`${figures['values']} of ${values} values were looked at`]),
      ],
      holds: 'no value is drawn in another order',
    }
  },
})
