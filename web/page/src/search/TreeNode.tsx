/** One token of the tree. It is drawn again only if it has changed, because there may be hundreds. */
import { memo } from 'preact/compat';
import type { SearchNode } from 'wordloom';

import { tokenLabel } from '../translation/tokens.ts';
import { left, middle, NODE } from './layout.ts';
import { percent, signed } from './searches.ts';
import { t, told } from '../texts/texts.ts';

export interface TreeNodeProps {
  readonly node: SearchNode;
  readonly index: number;
  readonly row: number;
  /** The score of a finished hypothesis. */
  readonly score: number | null;
  /** Whether the best hypothesis contains it. */
  readonly best: boolean;
  /** Whether the Tab key focuses it. */
  readonly current: boolean;
  focus(index: number): void;
  /** Reports the node under the pointer; null for none. */
  point(index: number | null): void;
  choose(index: number): void;
}

export const TreeNode = memo(function TreeNode(props: TreeNodeProps) {
  const { node, index, row, score, best, current, focus, point, choose } = props;
  const label = tokenLabel(node);
  const share = percent(Math.exp(node.logProbability));
  const fate = score === null ? told(node.fate) : t('finished, score {score}', { score: signed(score) });
  return (
    <button
      type="button"
      class={`tree__node is-${node.fate}${best ? ' is-best' : ''}`}
      style={{
        '--x': `${left(node.step - 1)}px`,
        '--y': `${middle(row)}px`,
        '--across': `${NODE.width}px`,
        '--down': `${NODE.height}px`,
      }}
      data-node={index}
      tabIndex={current ? 0 : -1}
      aria-label={t('{label}, step {step}, {share}, {fate}', { label, step: node.step, share, fate })}
      aria-disabled={node.ends}
      onFocus={() => focus(index)}
      onBlur={() => point(null)}
      onPointerEnter={() => point(index)}
      onPointerLeave={() => point(null)}
      onClick={() => choose(index)}
    >
      <bdi>{label}</bdi>
      <span class="number">{score === null ? share : signed(score)}</span>
    </button>
  );
});
