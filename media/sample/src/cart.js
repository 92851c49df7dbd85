/** Orders of at least this many cents get the discount. */
export const discountFrom = 10000;

/** Part of the price that the discount takes off. */
export const discountRate = 0.1;

/**
 * Total of a cart in cents, after the discount.
 * @param {{ price: number, count: number }[]} items prices in cents
 * @returns {number}
 */
export function total(items) {
  const sum = items.reduce((all, item) => all + item.price * item.count, 0);
  return sum >= discountFrom ? Math.round(sum * (1 - discountRate)) : sum;
}
