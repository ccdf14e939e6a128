"""What the file says of one mount's retention, as the policy that a pass goes by. Pure.

For the agent itself; workers are sent the policy.
"""

import hashlib

from agent.config.keep_schema import BestConfig, KeepConfig
from agent.config.retention_schema import FreeSpaceConfig, RetentionConfig, RuleConfig
from agent.retention.policy import Best, FreeSpace, Keep, Policy, Rule


def policy(retention: RetentionConfig) -> Policy:
    """As the file has it, `mode` too."""
    return Policy(
        mode=retention.mode,
        every=retention.every,
        keep_for=retention.trash.keep_for,
        rules=tuple(_rule(rule) for rule in retention.rules),
    )


def fingerprint(wanted: Policy) -> str:
    """12 hex digits: equal on all hosts that would clean alike, whatever the order of the rules."""
    alike = (wanted.mode, wanted.keep_for, sorted(map(repr, wanted.rules)))
    return hashlib.sha256(repr(alike).encode()).hexdigest()[:12]


def _rule(rule: RuleConfig) -> Rule:
    return Rule(
        path=rule.path,
        keep=_keep(rule.keep),
        quiet_for=rule.quiet_for,
        format=rule.format,
        free_space=_free_space(rule.free_space) if rule.free_space else None,
        max_size=rule.max_size,
    )


def _keep(keep: KeepConfig) -> Keep:
    return Keep(
        last=keep.last,
        every_steps=keep.every_steps,
        best=_best(keep.best) if keep.best else None,
        newer_than=keep.newer_than,
    )


def _best(best: BestConfig) -> Best:
    return Best(best.count, best.metric, best.mode)


def _free_space(wish: FreeSpaceConfig) -> FreeSpace:
    return FreeSpace(wish.start_below, wish.stop_above)
