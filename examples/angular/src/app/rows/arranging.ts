/** Which rows to show, and in which order. */

export interface Order<Row> {
  readonly by: keyof Row;
  readonly down: boolean;
}

/** Rows that have this text in one of their values. */
export function matching<Row extends object>(rows: readonly Row[], text: string): readonly Row[] {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return rows;
  return rows.filter((row) =>
    Object.entries(row).some(([name, value]) => name !== "_row" && String(value).toLowerCase().includes(wanted)),
  );
}

/** What has no value comes last, whichever the direction. */
export function sorted<Row>(rows: readonly Row[], { by, down }: Order<Row>): readonly Row[] {
  const sign = down ? -1 : 1;
  return [...rows].sort(({ [by]: a }, { [by]: b }) => {
    if (a === b) return 0;
    if (a == null) return 1;
    if (b == null) return -1;
    return a < b ? -sign : sign;
  });
}
