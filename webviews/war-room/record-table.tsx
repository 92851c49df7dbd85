import type { ComponentChildren, JSX } from "preact";

export interface Column<T> {
  readonly title: string;
  readonly number?: boolean;
  readonly cell: (row: T) => ComponentChildren;
}

interface RecordTableProps<T> {
  label: string;
  rows: readonly T[];
  rowKey: (row: T) => string;
  /** The first column is the heading of each row. */
  columns: readonly Column<T>[];
}

/**
 * A table of records. In a narrow window each row becomes a block with the column title before each value, so that nothing scrolls
 * sideways.
 */
export function RecordTable<T>({ label, rows, rowKey, columns }: RecordTableProps<T>): JSX.Element {
  const [heading, ...values] = columns;
  const cellClass = (column: Column<T>): string => (column.number === true ? "number" : "");
  return (
    <div class="record-table">
      <table class="table" aria-label={label}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={cellClass(column)}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)}>
              <th scope="row">{heading?.cell(row)}</th>
              {values.map((column) => (
                <td key={column.title} class={cellClass(column)} data-title={column.title}>
                  <div>{column.cell(row)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
