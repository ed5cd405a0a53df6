-- One row per question of the decision tree and per place where it stops. A decision begins at 'valid' and follows the answers; a fact that is
-- not known goes on by if_unknown.
-- group: money
-- node         its name
-- question     in words; null: the decision stops here
-- fact         that answers it, as 'decide' gathers them from the run's marts and the contract; null where it stops
-- if_yes       the next node
-- if_no        the next node
-- if_unknown   the next node
-- status       where it stops: 'accepted', 'rejected', or 'open', of which no decision follows
-- rule         where it stops: what that means, and what to do next
create table seeds.decision_tree (
    node varchar primary key,
    question varchar,
    fact varchar,
    if_yes varchar,
    if_no varchar,
    if_unknown varchar,
    status varchar,
    rule varchar
);
