import './plots.css'

/** The figures of a plot as a table, for those who read numbers or cannot see the plot. */
export const AsTable = (props: {
  label: string
  head: readonly string[]
  rows: readonly (readonly [label: string, ...figures: string[]])[]
}) => (
  <details class="astable">
    <summary>Show as a table</summary>
    <div tabIndex={0} role="region" aria-label={props.label}>
      <table>
        <thead>
          <tr>
            {props.head.map((name, index) => (
              <th key={name} scope="col" class={index === 0 ? '' : 'num'}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {props.rows.map(([label, ...figures]) => (
            <tr key={label}>
              <th scope="row">{label}</th>
              {figures.map((figure, index) => (
                <td key={props.head[index + 1]} class="num">
                  {figure}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  </details>
)
